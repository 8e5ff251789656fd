"""The journal against a dictionary, however the file ends."""

import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from regraft.store import Batch, Journal, Kept, StoreError
from regraft.store.journal import FILE

SESSIONS = st.integers(1, 3)
NAMES = {1: "desk", 2: "désk", 3: "tape"}
Model = dict[int, dict[str, Any]]


def contents(journal: Journal) -> dict[str, tuple[Any, ...]]:
    """Of each session what there is, its events as they come from pages of few bytes."""
    found = {}
    for kept in journal.sessions():
        events: list[tuple[int, bytes]] = []
        while page := journal.page(kept.id, events[-1][0] if events else 0, 20):
            events += page
        assert [(number, len(frame)) for number, frame in events] == list(kept.sizes.items())
        found[kept.name] = (kept.acknowledged, kept.lost, kept.used_ns, kept.filters, kept.latest, events)
    return found


class AgainstADictionary(RuleBasedStateMachine):
    """Batches fill; only what was applied counts, whatever copy of the files is opened."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.journal = Journal(self.folder / "a", "a", "periodic")
        self.copies = 0
        self.applied: Model = {}
        self.pending: Model = {}
        self.number = 0
        self.batch = Batch()

    def teardown(self) -> None:
        if hasattr(self, "journal"):
            self.journal.close()
            shutil.rmtree(self.folder)

    @rule(session=SESSIONS, used_ns=st.integers(0, 2**62))
    def session_begins(self, session: int, used_ns: int) -> None:
        if session not in self.pending and session not in self.batch.ended:
            self.batch.began[session] = NAMES[session], used_ns
            self.pending[session] = {
                "acknowledged": 0,
                "lost": 0,
                "used_ns": used_ns,
                "filters": {},
                "latest": {},
                "events": {},
            }

    @rule(session=SESSIONS)
    def session_ends(self, session: int) -> None:
        if self.pending.pop(session, None) is not None:
            self.batch.end(session)

    @rule(session=SESSIONS, filter=st.sampled_from(["a > 1", "b", "ä = 'ö'"]), subscribed=st.booleans())
    def subscription_changes(self, session: int, filter: str, subscribed: bool) -> None:
        if session in self.pending:
            self.batch.filters[session, filter] = subscribed
            if subscribed:
                self.pending[session]["filters"][filter] = None
            else:
                self.pending[session]["filters"].pop(filter, None)

    @rule(session=SESSIONS, frame=st.binary(max_size=30), publisher=st.sampled_from("pq"), sequence=st.integers(1, 9))
    def event_is_kept(self, session: int, frame: bytes, publisher: str, sequence: int) -> None:
        if session in self.pending:
            self.number += 1
            self.batch.keep(session, self.number, frame)
            self.pending[session]["events"][self.number] = frame
            self.batch.remember(session, publisher, sequence)
            self.pending[session]["latest"][publisher] = sequence

    @rule(session=SESSIONS, publisher=st.sampled_from("pq"))
    def publisher_is_forgotten(self, session: int, publisher: str) -> None:
        if session in self.pending and self.pending[session]["latest"].pop(publisher, None):
            self.batch.forget(session, publisher)

    @rule(session=SESSIONS, back=st.integers(0, 5), lost=st.integers(0, 5))
    def client_acknowledges(self, session: int, back: int, lost: int) -> None:
        if session in self.pending:
            state = self.pending[session]
            number = max(state["acknowledged"], self.number - back)
            self.batch.acknowledged[session] = number, lost
            state["acknowledged"], state["lost"] = number, lost
            state["events"] = {each: frame for each, frame in state["events"].items() if each > number}

    @rule()
    @precondition(lambda self: not self.batch.is_empty())
    def batch_is_applied(self) -> None:
        self.journal.apply(self.batch)
        self.batch = Batch()
        self.applied = {
            session: {key: dict(value) if isinstance(value, dict) else value for key, value in state.items()}
            for session, state in self.pending.items()
        }

    @rule()
    def broker_is_killed(self) -> None:
        """The files are copied as they are; the copy goes on, without what was never applied."""
        self.copies += 1
        copy = self.folder / f"copy{self.copies}"
        shutil.copytree(self.journal.file.parent, copy)
        self.journal.close()
        self.journal = Journal(copy, "a", "periodic")
        self.batch = Batch()
        self.pending = {
            session: {key: dict(value) if isinstance(value, dict) else value for key, value in state.items()}
            for session, state in self.applied.items()
        }

    @invariant()
    def what_was_applied_is_there(self) -> None:
        if not hasattr(self, "journal"):
            return
        assert contents(self.journal) == {
            NAMES[session]: (
                state["acknowledged"],
                state["lost"],
                state["used_ns"],
                sorted(state["filters"]),
                state["latest"],
                list(state["events"].items()),
            )
            for session, state in sorted(self.applied.items(), key=lambda item: NAMES[item[0]])
        }


TestAgainstADictionary = AgainstADictionary.TestCase
TestAgainstADictionary.settings = settings(max_examples=15, stateful_step_count=30, deadline=None)

WRITER = """
import sys
from pathlib import Path
from regraft.store import Batch, Journal
journal = Journal(Path(sys.argv[1]), "a", sys.argv[2])
batch = Batch()
batch.began[1] = ("desk", 0)
journal.apply(batch)
for number in range(1, 100_000):
    batch = Batch()
    batch.keep(1, 2 * number, b"x" * 500)
    batch.keep(1, 2 * number + 1, b"y" * 500)
    batch.remember(1, "p", number)
    batch.acknowledged[1] = (max(0, 2 * number - 1_000), 0)
    journal.apply(batch)
    print(number, flush=True)
"""


@pytest.mark.parametrize("fsync", ["always", "periodic"])
def test_a_writer_that_is_killed_leaves_whole_batches_and_all_that_it_said_were_applied(
    tmp_path: Path, fsync: str
) -> None:
    dice = Random(fsync)
    for turn in range(2):
        folder = tmp_path / str(turn)
        command = [sys.executable, "-c", WRITER, str(folder), fsync]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            for _ in range(dice.randrange(1, 200)):
                writer.stdout.readline()
            writer.send_signal(signal.SIGKILL)
            said = [int(line) for line in writer.stdout.read().splitlines()]
        journal = Journal(folder, "a")
        (kept,) = journal.sessions()
        journal.close()
        last = kept.latest["p"]
        assert last >= max(said, default=1)
        assert list(kept.sizes)[-2:] == [2 * last, 2 * last + 1]
        assert kept.acknowledged == max(0, 2 * last - 1_000)


@pytest.mark.parametrize("seed", range(20))
def test_a_torn_log_leaves_a_prefix_of_the_batches(tmp_path: Path, seed: int) -> None:
    """A loss of power while nothing forced the disk: the log ends anywhere, or in rubbish."""
    dice = Random(seed)
    journal = Journal(tmp_path / "a", "a", "periodic")
    batch = Batch()
    batch.began[1] = "desk", 0
    journal.apply(batch)
    journal.sync()
    for number in range(1, 20):
        batch = Batch()
        batch.keep(1, 2 * number, dice.randbytes(dice.randrange(2_000)))
        batch.keep(1, 2 * number + 1, b"y")
        journal.apply(batch)
    shutil.copytree(tmp_path / "a", tmp_path / "torn")
    journal.close()
    log = tmp_path / "torn" / f"{FILE}-wal"
    whole = log.read_bytes()
    at = dice.randrange(len(whole))
    log.write_bytes(whole[:at] + (dice.randbytes(len(whole) - at) if seed % 2 else b""))
    (tmp_path / "torn" / f"{FILE}-shm").unlink(missing_ok=True)
    torn = Journal(tmp_path / "torn", "a")
    (kept,) = torn.sessions()
    numbers = list(kept.sizes)
    assert numbers == list(range(2, 2 + len(numbers)))
    assert len(numbers) % 2 == 0, "whole batches"
    torn.close()


def test_a_full_disk_is_a_clear_error_and_what_was_stored_stays(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "a")
    batch = Batch()
    batch.began[1] = "desk", 7
    batch.keep(1, 1, b"first")
    journal.apply(batch)
    journal._connection.execute("PRAGMA max_page_count = 1")  # SQLite answers as it does on a full disk
    (pages,) = journal._connection.execute("PRAGMA max_page_count").fetchone()
    batch = Batch()
    batch.keep(1, 2, bytes(5_000 * pages))
    with pytest.raises(StoreError, match=r"sessions.db: cannot be written: database or disk is full"):
        journal.apply(batch)
    assert journal.page(1, 0, 1_000) == [(1, b"first")]
    journal._connection.execute("PRAGMA max_page_count = 1000000")
    journal.apply(batch)  # there is room again
    assert [number for number, _ in journal.page(1, 0, 10**9)] == [1, 2]
    journal.close()


def test_what_is_damaged_or_anothers_is_refused_and_stays(tmp_path: Path) -> None:
    Journal(tmp_path / "a", "a").close()
    with pytest.raises(StoreError, match="belongs to broker a, not to b"):
        Journal(tmp_path / "a", "b")
    newer = sqlite3.connect(tmp_path / "a" / FILE)
    newer.execute("PRAGMA user_version = 9")
    newer.close()
    with pytest.raises(StoreError, match="no sessions of this version"):
        Journal(tmp_path / "a", "a")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / FILE).write_bytes(b"rubbish" * 1_000)
    with pytest.raises(StoreError, match="damaged"):
        Journal(tmp_path / "b", "b")
    assert (tmp_path / "b" / FILE).read_bytes() == b"rubbish" * 1_000
    journal = Journal(tmp_path / "c", "c")
    batch = Batch()
    batch.began[1] = "desk", 7
    for number in range(1, 200):
        batch.keep(1, number, bytes(1_000))
    journal.apply(batch)
    journal.sync()
    journal.close()
    file = tmp_path / "c" / FILE
    data = bytearray(file.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 4_096] = b"\xff" * 4_096
    file.write_bytes(data)
    with pytest.raises(StoreError, match=r"damaged .*\.recover` reads what is left"):
        Journal(tmp_path / "c", "c")
    assert file.read_bytes() == data
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"file/sessions\.db: cannot be opened"):
        Journal(tmp_path / "file", "a")


def test_publishers_are_remembered(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "a")
    batch = Batch()
    batch.publishers = {"p": 3, "q": 9}
    journal.apply(batch)
    batch = Batch()
    batch.publishers = {"p": 4, "r": 1, "q": 0}
    journal.apply(batch)
    journal.close()
    journal = Journal(tmp_path, "a")
    assert journal.publishers() == {"p": 4, "r": 1}
    assert journal.sessions() == []
    journal.close()


def test_an_empty_batch_is_known_as_one() -> None:
    assert Batch().is_empty()
    batch = Batch()
    batch.end(1)
    assert not batch.is_empty()
    assert Kept(1, "desk").sizes == {}
