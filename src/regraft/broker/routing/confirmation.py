"""When is a subscription in force? A question that goes out behind it and comes back from the ends of the tree.

The promise: a client is told when, and only when, every broker that the tree connected to it while the question was out
holds the route that its filter needs; and it is told also where links break meanwhile.

How: links are FIFO, so a `Confirm` that follows a `Subscribe` over a link arrives when the route is laid. A broker asked by one
neighbour asks all the others that must hold a route (its *carriers*) and answers when they have. What one neighbour has answered for a
filter stays answered for the next client that wants the same, until we withdraw the filter there or the link ends: a thousand clients
with one filter cost one question. A link that ends while an answer is gathered makes it incomplete; an incomplete answer travels back
at once, and the broker where the client is asks again after a while, now along the tree as it has become. A link that comes up
meanwhile is asked too.

What is left out: a link that changes *behind* a broker that has already answered is not noticed by this question; the routes over it are then
the reconfiguration protocol's to mend, as they would be had it changed a moment later.

These messages are the only ones that the papers do not have; their measures leave them out (docs/guide/trace.md).
"""

from dataclasses import dataclass, field

from regraft.broker.effects import Effect, PeerMisbehaved, Send, SetTimer, TellInForce
from regraft.broker.messages import Confirm, Confirmed

OWN_CLIENTS = ""
TIMER_PREFIX = "confirm:"


@dataclass(slots=True)
class Question:
    """What one asker (a neighbour, or our own clients) wants to know of one filter."""

    serial: int
    clients: dict[str, None] = field(default_factory=dict)  # for our own clients: who is to be told
    disturbed: bool = False
    resting: bool = False  # until the timer fires; only our own clients' questions


class Confirmation:
    """`carriers` is looked up by the broker at each step and handed in, so that nothing here knows the table."""

    def __init__(self, again_after_ns: int, pending_max: int) -> None:
        self._again_after_ns = again_after_ns
        self._pending_max = pending_max
        self._serial = 0
        self._questions: dict[str, dict[str, Question]] = {}  # filter -> asker -> question
        self._asked: dict[str, dict[str, int]] = {}  # neighbour -> filter -> serial of our Confirm under way
        self._confirmed: dict[str, dict[str, None]] = {}  # neighbour -> filters whose routes are laid beyond it

    def open_link(self, neighbour: str) -> None:
        self._asked[neighbour] = {}
        self._confirmed[neighbour] = {}

    def close_link(self, neighbour: str) -> list[str]:
        """Returns the filters whose questions must be looked at again."""
        unanswered = self._asked.pop(neighbour)
        del self._confirmed[neighbour]
        for filter, askers in list(self._questions.items()):
            askers.pop(neighbour, None)
            if not askers:
                del self._questions[filter]
            elif filter in unanswered:
                for question in askers.values():
                    question.disturbed = True
        return [filter for filter in unanswered if filter in self._questions]

    def withdraw(self, neighbour: str, filters: tuple[str, ...], covering: bool) -> None:
        """We took filters back from a neighbour: what it confirmed of them is void. With covering, a filter
        that one of these stood for may have been its way to be confirmed, so everything is."""
        confirmed, asked = self._confirmed[neighbour], self._asked[neighbour]
        if covering:
            confirmed.clear()
        for filter in filters:
            confirmed.pop(filter, None)
            asked.pop(filter, None)

    def pending(self) -> list[str]:
        return list(self._questions)

    def ask_for_client(self, client: str, filter: str) -> None:
        question = self._questions.setdefault(filter, {}).setdefault(OWN_CLIENTS, Question(0))
        question.clients[client] = None

    def forget_client(self, client: str, filter: str) -> None:
        askers = self._questions.get(filter, {})
        question = askers.get(OWN_CLIENTS)
        if question is not None and client in question.clients:
            del question.clients[client]
            if not question.clients:
                del askers[OWN_CLIENTS]
                if not askers:
                    del self._questions[filter]

    def asked_by(self, neighbour: str, message: Confirm) -> list[Effect]:
        if len(self._questions) >= self._pending_max:
            return [PeerMisbehaved(neighbour, f"more than {self._pending_max} confirmations under way")]
        self._questions.setdefault(message.filter, {})[neighbour] = Question(message.serial)
        return []

    def answered_by(self, neighbour: str, message: Confirmed) -> None:
        if self._asked[neighbour].get(message.filter) != message.serial:
            return  # the answer to a question that a later withdrawal has made void
        del self._asked[neighbour][message.filter]
        if message.complete:
            self._confirmed[neighbour][message.filter] = None
        else:
            for asker, question in self._questions.get(message.filter, {}).items():
                if asker != neighbour:
                    question.disturbed = True

    def rested(self, filter: str) -> None:
        """The time to ask again has come."""
        question = self._questions.get(filter, {}).get(OWN_CLIENTS)
        if question is not None:
            question.resting = question.disturbed = False

    def proceed(self, filter: str, asker: str, carriers: list[str]) -> list[Effect]:
        """Answer one asker if that can be done now; if not, see that every carrier has been asked."""
        question = self._questions[filter][asker]
        if question.resting:
            return []
        missing = [carrier for carrier in carriers if filter not in self._confirmed[carrier]]
        if missing and not question.disturbed:
            return [effect for carrier in missing for effect in self._ask(carrier, filter)]
        return self._answer(filter, asker, question)

    def _ask(self, carrier: str, filter: str) -> list[Effect]:
        if filter in self._asked[carrier]:
            return []
        self._serial += 1
        self._asked[carrier][filter] = self._serial
        return [Send(carrier, Confirm(filter, self._serial))]

    def _answer(self, filter: str, asker: str, question: Question) -> list[Effect]:
        if asker == OWN_CLIENTS and question.disturbed:
            question.resting = True
            return [SetTimer(TIMER_PREFIX + filter, self._again_after_ns)]
        askers = self._questions[filter]
        del askers[asker]
        if not askers:
            del self._questions[filter]
        if asker == OWN_CLIENTS:
            return [TellInForce(client, filter) for client in question.clients]
        return [Send(asker, Confirmed(filter, question.serial, not question.disturbed))]

    def askers(self, filter: str) -> list[str]:
        return list(self._questions.get(filter, {}))
