"""Every interleaving on small trees keeps what the protocols promise; bugs planted on purpose are found.

`make prove` walks larger trees.
"""

from collections.abc import Iterator

import pytest

from effort import quick_first
from regraft.broker.effects import Send
from regraft.broker.grafting import Grafting
from regraft.broker.membership import Membership
from regraft.broker.messages import Control, SignalStep
from regraft.broker.messages import Membership as MembershipMessage
from regraft.broker.reconfiguration import informed
from regraft.broker.reconfiguration.coordinated import Coordinated
from regraft.broker.reconfiguration.cycle import Part
from regraft.broker.reconfiguration.deferred import Deferred
from regraft.broker.reconfiguration.informed import Informed
from regraft.broker.reconfiguration.path import Path
from regraft.broker.reconfiguration.strawman import Strawman
from regraft.broker.replacing import ACTIVATION, Replacing
from regraft.broker.routing.settlement import Settlement
from regraft.proving import CHANGES, KindName, Proof, prove
from regraft.sim.scenario import Protocol

QUICK = tuple(change for change in CHANGES if change not in ("again", "overlap", "interrupted"))


def proofs(protocol: Protocol, changes: tuple[KindName, ...]) -> Iterator[Proof]:
    return (proof for brokers in (2, 3) for proof in prove(protocol, brokers, changes))


def violation(protocol: Protocol, change: KindName) -> str:
    """The first that is found, with its story."""
    for proof in proofs(protocol, (change,)):
        if proof.violation is not None:
            return "\n".join([*proof.violation.story, proof.violation.reason])
    return ""


@pytest.mark.parametrize(
    "protocol",
    quick_first(["strawman", "deferred", "coordinated-none", "informed", "path", "coordinated-fifo", "graft-fifo"], 3),
)
def test_promises_hold_on_trees_of_up_to_3_brokers(protocol: Protocol) -> None:
    found = list(proofs(protocol, QUICK))
    assert [proof.violation for proof in found] == [None] * len(found)
    assert sum(proof.cases for proof in found) > 100
    assert sum(proof.states for proof in found) > 8_000


def test_the_same_states_are_found_again() -> None:
    assert list(proofs("deferred", ("break",))) == list(proofs("deferred", ("break",)))


def test_a_route_that_is_never_withdrawn_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Strawman, "withheld", 1)
    assert "wrong entries" in violation("strawman", "break")


def test_a_timer_that_withdraws_what_a_new_incarnation_has_asked_for_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deferred unsubscription that does not look whether the filter has come back."""
    expired = 1 << 40
    expire, settle = Deferred.expire, Settlement.settle

    def settle_blindly(self: Settlement, changed: int, reconfiguration: str, apart: str = "") -> int:
        if changed & expired:
            changed &= ~expired
            for neighbour in self.table.heard:
                self.table.heard[neighbour] &= ~changed
        return settle(self, changed, reconfiguration, apart)

    monkeypatch.setattr(Deferred, "expire", lambda self, timer: expire(self, timer) | expired)
    monkeypatch.setattr(Settlement, "settle", settle_blindly)
    story = violation("deferred", "break")
    assert "wakes up: withdraw:" in story
    assert "wrong entries" in story


@pytest.mark.long
def test_a_path_that_hears_what_crosses_its_message_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "ignored", lambda self, neighbour: 0)
    assert "wrong entries" in violation("path", "replace")


def test_an_old_end_that_forgets_what_did_not_come_back_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def forget(self: Informed, name: str) -> None:
        del self._old_ends[name.removeprefix(informed.TIMER_PREFIX)]

    monkeypatch.setattr(Informed, "timer_fired", forget)
    assert "no longer wants" in violation("informed", "replace")


def test_a_new_end_that_waits_for_ever_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    fired = Replacing.timer_fired

    def fire(self: Replacing, name: str) -> None:
        if not name.startswith(ACTIVATION):
            fired(self, name)

    monkeypatch.setattr(Replacing, "timer_fired", fire)
    assert "wrong entries" in violation("informed", "replace")


def test_two_replacements_one_by_path_and_one_informed_end_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `auto` meets two that overlap; on 2 brokers, and with a bug."""
    (proof,) = prove("auto", 2, ("again",))
    assert proof.violation is None
    assert proof.states > 4_000
    monkeypatch.setattr(Path, "rerouted_by", lambda self, neighbour, message: None)
    (proof,) = prove("auto", 2, ("again",))
    assert proof.violation is not None


def test_an_event_that_does_not_wait_behind_the_new_link_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Coordinated, "held_back", lambda self, event, came_from: False)
    assert violation("coordinated-fifo", "exchange").endswith("gets p/1 after p/2")


@pytest.mark.long
def test_an_event_that_waits_for_one_separator_only_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is enough for the order of each publisher is not enough for causal order."""

    def release(self: Coordinated, part: Part) -> None:
        if not part.open and part.other:
            self._let_go(part)

    monkeypatch.setattr(Coordinated, "_release", release)
    assert "gets p/1 after s-" in violation("coordinated-causal", "exchange")


def test_routes_that_do_not_wait_until_the_stale_ones_are_gone_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def holds(self: Coordinated, neighbour: str, message: Control) -> bool:
        return False

    monkeypatch.setattr(Coordinated, "holds", holds)
    assert "wrong entries" in violation("coordinated-none", "exchange")


def test_an_event_that_takes_the_colour_of_each_broker_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def is_gray(self: Coordinated, came_from: str, exchange: str) -> bool:
        assert self.part is not None
        return self.part.gray

    monkeypatch.setattr(Coordinated, "is_gray", is_gray)
    assert "gets p/1 twice" in violation("coordinated-none", "exchange")


def test_an_old_link_that_is_closed_too_early_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def drained(self: Coordinated, part: Part) -> None:
        if part.is_first and part.crossed:
            self.say(part.outward, "drained")
            self._finish(part)

    monkeypatch.setattr(Coordinated, "_old_link_drained", drained)
    assert violation("coordinated-none", "exchange") != ""


def test_an_unlock_that_never_comes_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    say = Coordinated.say

    def say_no_unlock(self: Coordinated, neighbour: str, step: SignalStep) -> None:
        if step != "unlock":
            say(self, neighbour, step)

    monkeypatch.setattr(Coordinated, "say", say_no_unlock)
    assert "locked at the end" in violation("coordinated-none", "exchange")


@pytest.mark.long
def test_an_unsubscription_that_crosses_a_graft_and_counts_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    take_back = Settlement.take_back

    def take_all_back(self: Settlement, neighbour: str, filters: int, exchange: str, before: bool) -> int:
        self._grafted.clear()
        return take_back(self, neighbour, filters, exchange, before)

    monkeypatch.setattr(Settlement, "take_back", take_all_back)
    assert violation("graft-none", "exchange") != ""


def test_new_ends_that_believe_each_other_blindly_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Grafting, "believes", lambda self, part, digest: True)
    assert violation("graft-none", "exchange") != ""


def test_what_is_published_before_the_welcome_is_found_to_be_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Membership, "join_ordered", lambda self: None)
    assert "never gets p/1" in violation("deferred", "join")


def test_a_run_that_goes_round_for_ever_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def said(self: Membership, neighbour: str, message: MembershipMessage) -> None:
        self._emit(Send(neighbour, message))

    monkeypatch.setattr(Membership, "said", said)
    story = violation("deferred", "join")
    assert "again and again:\na → b  join\nb → a  join\n" in story or "again and again:\nb → a  join" in story
    assert story.endswith("a run goes round for ever")
