"""`auto` chooses as the chapter advises, for every state of knowledge, and says why."""

import pytest

from regraft.planning import Known, choose


@pytest.mark.parametrize(
    ("known", "protocol", "reason"),
    [
        (Known(True, "fifo", "path", 0), "coordinated", "it is planned, and fifo order is to be kept"),
        (Known(True, "none", "nothing", 3), "coordinated", "it is planned, and no event may be lost"),
        (Known(True, None, "path", 0), "path", "the path is known, and no other is under way"),
        (Known(False, "fifo", "path", 0), "path", "the path is known, and no other is under way"),
        (Known(False, None, "path", 1), "informed", "the path is known, but 1 other may be under way"),
        (Known(True, None, "path", 2), "informed", "the path is known, but 2 others may be under way"),
        (Known(False, None, "ends", 0), "informed", "the ends of the new link are known, and the path is not"),
        (Known(False, None, "nothing", 0), "deferred", "nothing is known of a replacement"),
        (Known(True, None, "nothing", 4), "deferred", "nothing is known of a replacement"),
    ],
)
def test_choice_follows_from_what_is_known(known: Known, protocol: str, reason: str) -> None:
    choice = choose(known)
    assert (choice.protocol, choice.reason) == (protocol, reason)
