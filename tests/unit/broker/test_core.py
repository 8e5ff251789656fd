"""The brain answers bad input from outside with effects, and its own world's mistakes with an assertion."""

import pytest

from regraft.broker import Broker, BrokerConfig, FilterCatalogue
from regraft.broker.effects import CloseLink, Forward, PeerMisbehaved, Refuse, Send, SetTimer
from regraft.broker.inputs import (
    ClientDetached,
    ClientPublished,
    ClientSubscribed,
    ClientUnsubscribed,
    Input,
    LinkDown,
    LinkUp,
    Received,
    ReceivedDirect,
    TimerFired,
)
from regraft.broker.messages import Confirm, Confirmed, Informed, Reroute, Rerouted, Subscribe, Unsubscribe
from regraft.model.events import Event


class Driver:
    """Feeds a broker and keeps its invariants under watch."""

    def __init__(self, **settings) -> None:
        self.catalogue = FilterCatalogue(settings.get("covering", False))
        self.broker = Broker("b", BrokerConfig(**settings), self.catalogue)

    def give(self, *inputs: Input) -> list:
        effects = []
        for given in inputs:
            effects = self.broker.handle(1, given)
            self.broker.check()
        return effects


def test_malformed_filter_of_a_client_is_refused() -> None:
    effects = Driver().give(ClientSubscribed("c", "price >"))
    assert len(effects) == 1
    assert isinstance(effects[0], Refuse)


def test_unsubscribing_what_was_never_subscribed_is_refused() -> None:
    driver = Driver()
    effects = driver.give(ClientUnsubscribed("c", "price > 1"))
    assert isinstance(effects[0], Refuse)


@pytest.mark.parametrize("filter", ["price >", "price>1", "price > 1 AND ("])
def test_neighbour_that_sends_no_canonical_filter_misbehaves_and_changes_nothing(filter: str) -> None:
    driver = Driver()
    effects = driver.give(LinkUp("a", 1), LinkUp("c", 1), Received("a", Subscribe((filter,))))
    assert [type(effect) for effect in effects] == [PeerMisbehaved]
    assert driver.broker.table.heard == {"a": 0, "c": 0}


def test_good_filters_of_a_message_are_taken_though_one_is_bad() -> None:
    driver = Driver(batch=True)
    effects = driver.give(LinkUp("a", 1), LinkUp("c", 1), Received("a", Subscribe(("price > 1", "?", "size = 2"))))
    assert [type(effect) for effect in effects] == [PeerMisbehaved, Send]
    assert effects[1] == Send("c", Subscribe(("price > 1", "size = 2")))


def test_neighbour_has_a_bound_on_its_filters() -> None:
    driver = Driver(filters_per_neighbour_max=2)
    driver.give(LinkUp("a", 1))
    effects = driver.give(Received("a", Subscribe(("a = 1", "a = 2", "a = 3"))))
    assert isinstance(effects[0], PeerMisbehaved)
    assert driver.broker.table.heard["a"].bit_count() == 2


@pytest.mark.parametrize(
    "message",
    [
        Subscribe(("a = 1",)),
        Unsubscribe(("a = 1",)),
        Confirm("x", 1, 1, ()),
        Confirmed("x", 1, 1, True),
        Reroute("x-y#1", ("a = 1",), (), ("x", "y"), 1),
        Rerouted("x-y#1"),
    ],
)
def test_control_message_without_a_link_is_reported(message) -> None:
    effects = Driver().give(Received("stranger", message))
    assert [type(effect) for effect in effects] == [PeerMisbehaved]


def test_answers_nobody_asked_for_and_second_rounds_nobody_began_are_harmless() -> None:
    driver = Driver()
    driver.give(LinkUp("a", 1), LinkUp("c", 1))
    assert driver.give(Received("a", Confirmed("x", 1, 1, True))) == []
    assert driver.give(Received("a", Confirm("x", 7, 2, ("a = 1",)))) == [Send("a", Confirmed("x", 7, 2, False))]
    assert driver.give(Received("a", Confirm("b", 7, 1, ("a = 1",)))) == [Send("a", Confirmed("b", 7, 1, False))]


def test_a_route_that_is_missing_is_not_confirmed() -> None:
    driver = Driver()
    driver.give(LinkUp("a", 1), LinkUp("c", 1))
    assert driver.give(Received("a", Confirm("x", 1, 1, ("a = 1",)))) == [Send("a", Confirmed("x", 1, 1, False))]


def test_probes_are_bounded_and_the_oldest_is_forgotten() -> None:
    driver = Driver(probes_max=2)
    driver.give(LinkUp("a", 1), LinkUp("c", 1), Received("a", Subscribe(("a = 1",))))
    for origin in ("x", "y", "z"):
        driver.give(Received("a", Confirm(origin, 1, 1, ("a = 1",))), Received("c", Confirmed(origin, 1, 1, True)))
    forgotten = driver.give(Received("a", Confirm("x", 1, 2, ("a = 1",))))
    assert forgotten == [Send("a", Confirmed("x", 1, 2, False))]
    assert driver.give(Received("a", Confirm("z", 1, 2, ("a = 1",)))) == [Send("c", Confirm("z", 1, 2, ("a = 1",)))]


def test_filter_is_let_go_when_nothing_speaks_of_it() -> None:
    driver = Driver()
    driver.give(LinkUp("a", 1), LinkUp("c", 1), Received("a", Subscribe(("a = 1",))), ClientSubscribed("s", "b = 2"))
    assert driver.catalogue.bit("a = 1")
    driver.give(Received("a", Unsubscribe(("a = 1",))), ClientDetached("s"))
    assert not driver.catalogue.bit("a = 1")
    assert not driver.catalogue.bit("b = 2")


def test_filter_that_waits_to_be_withdrawn_is_kept_until_then() -> None:
    driver = Driver(reconfiguration="deferred")
    driver.give(LinkUp("a", 1), LinkUp("c", 1), Received("a", Subscribe(("a = 1",))), LinkDown("a"))
    assert driver.catalogue.bit("a = 1")


def test_detached_client_takes_all_its_subscriptions_along() -> None:
    driver = Driver()
    driver.give(LinkUp("a", 1), ClientSubscribed("s", "a = 1"), ClientSubscribed("s", "b = 2"))
    assert driver.give(ClientDetached("s")) == [
        Send("a", Unsubscribe(("a = 1",))),
        Send("a", Unsubscribe(("b = 2",))),
    ]


def test_publisher_that_subscribes_gets_its_own_event() -> None:
    driver = Driver()
    driver.give(ClientSubscribed("s", "a = 1"))
    event = Event("s", 1, {"a": 1})
    assert driver.give(ClientPublished(event)) == [Forward(event, (), ("s",))]


def test_link_that_is_up_twice_is_the_worlds_mistake() -> None:
    driver = Driver()
    driver.give(LinkUp("a", 1))
    with pytest.raises(AssertionError, match="up twice"):
        driver.give(LinkUp("a", 2))


@pytest.mark.parametrize(
    "message",
    [
        Reroute("a-z#1", (), (), ("a", "b"), 0),  # no new link on it
        Reroute("a-z#1", (), (), ("a", "b", "a"), 1),  # a broker comes twice
        Reroute("a-z#1", (), (), ("a", "x"), 1),  # we are not on it
        Reroute("a-z#1", (), (), ("b", "a"), 1),  # we are the first of it
        Reroute("a-z#1", (), (), ("c", "b"), 1),  # the sender does not come before us
        Reroute("a-z#1", ("a = 1", "a = 2", "a = 3"), (), ("a", "b"), 1),  # more than a neighbour may ask for
        Rerouted("a-z#1"),  # answers nothing
    ],
)
def test_peer_that_sends_a_recmsg_or_ctrlmsg_out_of_turn_is_isolated_and_changes_nothing(message) -> None:
    driver = Driver(reconfiguration="path", filters_per_neighbour_max=2)
    effects = driver.give(LinkUp("a", 1), LinkUp("c", 1), Received("a", message))
    assert [type(effect) for effect in effects] == [PeerMisbehaved, CloseLink]
    assert driver.broker.table.heard == {"a": 0, "c": 0}


def test_recmsg_that_comes_twice_is_out_of_turn() -> None:
    driver = Driver(reconfiguration="path")
    message = Reroute("a-z#1", ("a = 1",), (), ("a", "b", "c"), 2)
    driver.give(LinkUp("a", 1), LinkUp("c", 1), Received("a", message))
    assert [type(effect) for effect in driver.give(Received("a", message))] == [PeerMisbehaved, CloseLink]


def test_recmsgs_under_way_are_bounded_and_beyond_it_none_is_passed_on() -> None:
    driver = Driver(reconfiguration="path", reroutes_max=1)
    driver.give(LinkUp("a", 1), LinkUp("c", 1))
    first, second = (Reroute(f"a-z#{n}", ("a = 1",), (), ("a", "b", "c"), 2) for n in (1, 2))
    assert any(effect.neighbour == "c" for effect in driver.give(Received("a", first)))
    assert not any(getattr(effect, "neighbour", "") == "c" for effect in driver.give(Received("a", second)))


def test_new_link_that_is_announced_in_vain_is_used_when_its_time_has_come() -> None:
    driver = Driver(reconfiguration="path")
    driver.give(ClientSubscribed("s", "a = 1"))
    assert [type(effect) for effect in driver.give(LinkUp("a", 1, announced="b-z#1"))] == [SetTimer]
    assert driver.give(TimerFired("activate:a"))[-1] == Send("a", Subscribe(("a = 1",), "b-z#1"))


def test_broker_that_informs_of_a_link_that_it_was_no_end_of_is_reported_and_nothing_changes() -> None:
    driver = Driver(reconfiguration="informed")
    driver.give(LinkUp("a", 1, announced="b-z#1"))
    effects = driver.give(ReceivedDirect("y", Informed("b-z#1", ("a = 1",))))
    assert [type(effect) for effect in effects] == [PeerMisbehaved]
    assert driver.broker.table.unasked == {"a": -1}


def test_information_about_a_link_that_nobody_announced_changes_nothing() -> None:
    driver = Driver(reconfiguration="informed")
    assert driver.give(ReceivedDirect("z", Informed("y-z#1", ("a = 1",)))) == []


def test_new_link_is_used_as_soon_as_the_old_end_has_informed() -> None:
    driver = Driver(reconfiguration="informed")
    driver.give(ClientSubscribed("s", "a = 1"), LinkUp("a", 1, announced="y-z#1"))
    effects = driver.give(ReceivedDirect("z", Informed("y-z#1", ("b = 2",))))
    assert effects[-1] == Send("a", Subscribe(("a = 1",), "y-z#1"))
    assert driver.broker.table.unasked == {}
