"""What a broker was told and what it did, in words: the tone of the golden scripts, and of whatever explains a run.

A line says what the broker was told; indented lines say what it did about it. What it sent is told when it arrives.
"""

from regraft.broker.effects import (
    CancelTimer,
    CloseLink,
    Departed,
    Dismiss,
    Effect,
    ExchangeEnded,
    Forward,
    HandedOff,
    Keep,
    LeaveAnswered,
    OpenLink,
    PeerMisbehaved,
    Refuse,
    Released,
    Send,
    SendDirect,
    SetTimer,
    TellInForce,
)
from regraft.broker.inputs import (
    ClientArrived,
    ClientAway,
    ClientDetached,
    ClientPublished,
    ClientSubscribed,
    ClientUnsubscribed,
    EndFound,
    ExchangeOrdered,
    Input,
    JoinOrdered,
    LeaveOrdered,
    LinkDown,
    LinkRefused,
    LinkUp,
    ParentAssigned,
    PathFound,
    Received,
    ReceivedDirect,
    TablesDiffer,
    TimerFired,
)
from regraft.broker.messages import (
    Claim,
    Compare,
    Confirm,
    Confirmed,
    DirectMessage,
    Graft,
    Gray,
    Informed,
    Kept,
    Lock,
    Membership,
    Message,
    Reroute,
    Rerouted,
    Settled,
    Signal,
    Subscribe,
    Unsubscribe,
)
from regraft.model.events import Event

MILLISECOND_NS = 1_000_000


def story_of(broker: str, given: Input | None, effects: list[Effect]) -> list[str]:
    """`given` is None where the broker began anew."""
    told = _told(broker, given)
    return ([told] if told else []) + [f"  {broker} {done}" for effect in effects for done in _done(effect)]


def _told(broker: str, given: Input | None) -> str:
    match given:
        case Received():
            return f"{given.neighbour} → {broker}  {words_of(given.message)}"
        case LinkUp():
            return f"{broker} has a link to {given.neighbour}"
        case LinkDown():
            return f"{broker} has lost its link to {given.neighbour}"
        case LinkRefused():
            return f"{broker} can have no link to {given.neighbour}"
        case TablesDiffer():
            return f"{broker} has not heard what {given.neighbour} has told"
        case ExchangeOrdered():
            return f"{broker} is to exchange {given.exchange}, round {' '.join(given.cycle)}"
        case JoinOrdered():
            return f"{broker} is to join"
        case LeaveOrdered():
            return f"{broker} is to leave"
        case ReceivedDirect():
            return f"{given.broker} ⇒ {broker}  {words_of(given.message)}"
        case EndFound():
            return f"{broker} learns that {given.new_end} replaces its link to {given.neighbour}"
        case PathFound():
            return f"{broker} learns what replaces its link to {given.neighbour}: {' '.join(given.way)}"
        case ParentAssigned():
            return f"{broker} has {given.neighbour or 'nobody'} above it"
        case TimerFired():
            return f"{broker} wakes up: {given.name}"
        case ClientAway():
            kept = (
                f", and has not got {', '.join(event.name for event in given.undelivered)}" if given.undelivered else ""
            )
            return f"{given.client} leaves {broker}{kept}"
        case ClientArrived():
            return f"{given.client} arrives at {broker}" + (
                f", from {', '.join(given.previous)}" if given.previous else ""
            )
        case ClientPublished() | ClientSubscribed() | ClientUnsubscribed() | ClientDetached() | None:
            return ""  # told as the command that it was


def _done(effect: Effect) -> list[str]:
    match effect:
        case Forward():
            return [f"delivers {effect.event.name} to {client}" for client in effect.clients]
        case SetTimer():
            return [f"will wake up in {effect.after_ns // MILLISECOND_NS} ms: {effect.name}"]
        case TellInForce():
            return [f"tells {effect.client}: {effect.filter} is in force"]
        case HandedOff():
            dropped = f", {effect.dropped} dropped" if effect.dropped else ""
            return [f"tells {effect.client}: it has arrived, {effect.outcome}{dropped}"]
        case Dismiss():
            return [f"dismisses {effect.client}"]
        case Keep():
            return [f"keeps {effect.event.name} for {effect.client}"]
        case Departed():
            return [f"is done with {effect.client}"]
        case Refuse():
            return [f"refuses {effect.client}: {effect.reason}"]
        case PeerMisbehaved():
            return [f"complains of {effect.neighbour}: {effect.reason}"]
        case OpenLink():
            return [f"opens a link to {effect.neighbour}"]
        case CloseLink():
            return [f"closes its link to {effect.neighbour}: {effect.reason}"]
        case ExchangeEnded():
            return [f"says of {effect.exchange}: {effect.outcome}"]
        case Released():
            things = "event" if effect.queue == "event" else "message"
            plural = "" if effect.count == 1 else "s"
            waited_ms = effect.waited_ns / effect.count / MILLISECOND_NS
            return [f"lets {effect.count} {things}{plural} go after {waited_ms:g} ms"]
        case LeaveAnswered():
            return [f"stays: {effect.reason}" if effect.reason else "has left"]
        case Send() | SendDirect() | CancelTimer():
            return []


def words_of(message: Message | DirectMessage) -> str:
    match message:
        case Event():
            return f"Event {message.name}"
        case Gray():
            return f"Event {message.event.name}, gray"
        case Subscribe() | Unsubscribe():
            tree = "" if not message.exchange else f" (of the tree {'before' if message.before else 'to come'})"
            return f"{type(message).__name__} {', '.join(message.filters)}{tree}"
        case Lock():
            return f"Lock {message.exchange}"
        case Graft():
            lists = {"moved": message.moved, "kept": message.kept, "staying": message.staying}
            named = [f"{', '.join(texts)} {part}" for part, texts in lists.items() if texts]
            return f"Graft {'; '.join([*named, f'the rest {message.rest}' if message.rest else '…'])}"
        case Compare():
            return f"Compare {message.digest[:8]}"
        case Signal() | Membership():
            return message.step
        case Reroute():
            moved = [f"add {', '.join(message.added)}"] if message.added else []
            moved += [f"remove {', '.join(message.removed)}"] if message.removed else []
            return f"RECMSG {message.reconfiguration} {'; '.join(moved)}".rstrip()
        case Informed():
            return f"INFORMED {message.reconfiguration} {', '.join(message.stale)}".rstrip()
        case Claim():
            return f"Claim {message.client}, arrival {message.move}, from {message.have} on"
        case Kept(state="part" | "last"):
            events = ", ".join(event.name for event in message.events) or "nothing more"
            return f"Kept for {message.client}: {events}{'' if message.state == 'last' else ' …'}"
        case Kept():
            return f"Kept for {message.client}: {message.state}"
        case Settled():
            return f"Settled {message.client}"
        case Rerouted():
            return f"CTRLMSG {message.reconfiguration}"
        case Confirm():
            filters = ", ".join(filter or "all" for filter in message.filters)
            return f"Confirm? {filters} ({message.origin}, round {message.round})"
        case Confirmed():
            return f"{'Confirmed' if message.complete else 'Spoiled'} ({message.origin}, round {message.round})"
