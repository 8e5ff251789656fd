"""Events from two routes as one stream: each once, each publisher's in order."""

from collections.abc import Iterable

from regraft.model.events import Event


def merged(*parts: Iterable[Event]) -> list[Event]:
    """The first part first. Of what both have, the first counts; a publisher's places are filled by its numbers."""
    known: dict[tuple[str, int], Event] = {}
    for part in parts:
        for event in part:
            known.setdefault((event.publisher, event.sequence), event)
    ordered = sorted(known, key=lambda identity: identity[1])
    of_publisher: dict[str, list[Event]] = {}
    for identity in ordered:
        of_publisher.setdefault(identity[0], []).append(known[identity])
    streams = {publisher: iter(events) for publisher, events in of_publisher.items()}
    return [next(streams[publisher]) for publisher, _ in known]
