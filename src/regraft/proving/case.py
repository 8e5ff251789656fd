"""One thing to be proved: a tree, who has subscribed, what the operator does and what clients do meanwhile."""

from dataclasses import dataclass

from regraft.broker.inputs import ClientPublished, ClientSubscribed, ClientUnsubscribed
from regraft.model.trees import Link
from regraft.proving.links import Operation

FILTER = "price > 10"
ATTRIBUTES = {"price": 12}


@dataclass(frozen=True, slots=True)
class Act:
    """What a client does, once, at any time after the act numbered `after` (at the same broker), and after its client
    has got that event."""

    broker: str
    given: ClientPublished | ClientSubscribed | ClientUnsubscribed
    after: int | None = None
    got: str = ""

    def __str__(self) -> str:
        match self.given:
            case ClientPublished(event):
                return f"publish {event.publisher}@{self.broker}   # {event.name}"
            case ClientSubscribed(client, filter):
                return f'subscribe {client}@{self.broker} "{filter}"'
            case ClientUnsubscribed(client, filter):
                return f'unsubscribe {client}@{self.broker} "{filter}"'


@dataclass(frozen=True, slots=True)
class Case:
    """`subscribers` are brokers with a client, `s-` and the broker's name, whose subscription is in force from the
    beginning. `joining` is a broker that has no link yet and waits for one."""

    brokers: tuple[str, ...]
    tree: tuple[Link, ...]
    subscribers: tuple[str, ...]
    threads: tuple[tuple[Operation, ...], ...]
    acts: tuple[Act, ...]
    joining: str = ""

    def commands(self) -> list[str]:
        """As a golden script would begin."""
        lines = ["brokers " + " ".join("-".join(link) for link in self.tree)]
        lines += [f'subscribe {client_of(broker)}@{broker} "{FILTER}"' for broker in self.subscribers]
        return [*lines, "settle"]

    def __str__(self) -> str:
        meanwhile = [str(operation) for thread in self.threads for operation in thread]
        meanwhile += [str(act).partition("   #")[0] for act in self.acts]
        return "; ".join([*self.commands()[:-1], *meanwhile])


def client_of(broker: str) -> str:
    return f"s-{broker}"
