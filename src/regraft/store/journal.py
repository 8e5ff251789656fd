"""The journal of a broker: sessions of clients that may be away, what each is owed, and how far publishers have come.

One SQLite file in WAL mode. Changes come in batches; a batch is one transaction, so that a broker which is killed at
any moment finds all of it or nothing. When the disk is made to write is the caller's choice:

- `always`: a batch is on the disk when `apply` returns. Neither a kill nor a loss of power takes it back.
- `periodic`: a batch is with the operating system when `apply` returns, and on the disk after the next `sync`. A kill
  of the broker takes nothing back; a loss of power what came since the last `sync`, always whole batches.

An event is kept once for each session that is owed it, under a number that rises in its session and is never given
twice: sessions are few beside subscribers, and one that has taken its events deletes rows of its own and nobody else's.

What is damaged is refused when it is opened, and the file stays as it is: `sqlite3 FILE .recover` reads what is left.
What cannot be written (a full disk) leaves the file as it was before the batch, which may be tried again.

Left out: a checksum for each event; SQLite's own check of its pages finds torn and foreign files, not a flipped bit.
"""

import contextlib
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from regraft.errors import RegraftError

FILE = "sessions.db"
VERSION = 1
BUSY_S = 5.0

Fsync = Literal["always", "periodic"]

_TABLES = """
CREATE TABLE about (broker TEXT NOT NULL);
CREATE TABLE session (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, acknowledged INTEGER NOT NULL, lost INTEGER NOT NULL,
    used_ns INTEGER NOT NULL
);
CREATE TABLE subscription (session INTEGER, filter TEXT, PRIMARY KEY (session, filter)) WITHOUT ROWID;
CREATE TABLE event (session INTEGER, number INTEGER, frame BLOB NOT NULL, PRIMARY KEY (session, number)) WITHOUT ROWID;
CREATE TABLE latest (session INTEGER, publisher TEXT, sequence INTEGER NOT NULL, PRIMARY KEY (session, publisher))
    WITHOUT ROWID;
CREATE TABLE publisher (name TEXT PRIMARY KEY, sequence INTEGER NOT NULL) WITHOUT ROWID;
"""


class StoreError(RegraftError):
    """The journal cannot be read or written."""


@dataclass(slots=True)
class Kept:
    """A session as it stands on the disk, but for its events. `latest` is each publisher's event that was kept last;
    `sizes` are those of the events that are there, by their numbers."""

    id: int
    name: str
    acknowledged: int = 0
    lost: int = 0
    used_ns: int = 0
    filters: list[str] = field(default_factory=list)
    latest: dict[str, int] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)


class Batch:
    """Changes that belong together; of several to one thing the last counts."""

    def __init__(self) -> None:
        self.began: dict[int, tuple[str, int]] = {}  # session -> its name, when it was used
        self.ended: dict[int, None] = {}
        self.filters: dict[tuple[int, str], bool] = {}  # subscribed, or taken back
        self.events: list[tuple[int, int, bytes]] = []
        self.acknowledged: dict[int, tuple[int, int]] = {}  # up to which number; events lost that nobody was told of
        self.latest: dict[tuple[int, str], int] = {}
        self.forgotten: dict[tuple[int, str], None] = {}  # publishers whose latest event nobody needs to know
        self.used: dict[int, int] = {}
        self.publishers: dict[str, int] = {}  # the last number of each; 0: nobody needs to know it any more
        self.size_bytes = 0

    def keep(self, session: int, number: int, frame: bytes) -> None:
        self.events.append((session, number, frame))
        self.size_bytes += len(frame)

    def remember(self, session: int, publisher: str, sequence: int) -> None:
        self.latest[session, publisher] = sequence
        self.forgotten.pop((session, publisher), None)

    def forget(self, session: int, publisher: str) -> None:
        self.latest.pop((session, publisher), None)
        self.forgotten[session, publisher] = None

    def end(self, session: int) -> None:
        """Nothing of that session is kept any more."""
        self.ended[session] = None
        self.began.pop(session, None)
        self.filters = {key: value for key, value in self.filters.items() if key[0] != session}
        self.events = [row for row in self.events if row[0] != session]
        self.latest = {key: value for key, value in self.latest.items() if key[0] != session}
        self.acknowledged.pop(session, None)
        self.used.pop(session, None)

    def is_empty(self) -> bool:
        changes = (
            self.began,
            self.ended,
            self.filters,
            self.events,
            self.acknowledged,
            self.latest,
            self.forgotten,
            self.used,
            self.publishers,
        )
        return not any(changes)


class Journal:
    """May be used by one thread at a time."""

    def __init__(self, folder: Path, broker: str, fsync: Fsync = "always") -> None:
        self.file = folder / FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                self.file, timeout=BUSY_S, isolation_level=None, check_same_thread=False, cached_statements=64
            )
        except (OSError, sqlite3.Error) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise StoreError(f"{self.file}: cannot be opened: {reason}") from error
        try:
            self._open(broker, fsync)
        except BaseException:
            self._connection.close()
            raise

    def _open(self, broker: str, fsync: Fsync) -> None:
        ask = self._connection.execute
        try:
            (found,) = ask("PRAGMA quick_check(1)").fetchone()
            if found != "ok":
                raise self._damaged(" ".join(found.split()))
            (version,) = ask("PRAGMA user_version").fetchone()
            if version == 0 and not ask("SELECT * FROM sqlite_schema").fetchone():
                ask("PRAGMA journal_mode = WAL")
                self._connection.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {VERSION}; COMMIT")
            elif version != VERSION:
                raise StoreError(f"{self.file}: these are no sessions of this version ({VERSION}), but of {version}")
            ask("PRAGMA journal_mode = WAL")
            ask(f"PRAGMA synchronous = {'FULL' if fsync == 'always' else 'NORMAL'}")
            owner = ask("SELECT broker FROM about").fetchone()
        except sqlite3.Error as error:
            raise self._damaged(str(error)) from error
        if owner is None:
            ask("INSERT INTO about VALUES (?)", (broker,))
        elif owner[0] != broker:
            raise StoreError(
                f"{self.file}: belongs to broker {owner[0]}, not to {broker}; each needs a folder of its own"
            )

    def _damaged(self, reason: str) -> StoreError:
        return StoreError(f"{self.file}: damaged ({reason}); `sqlite3 {self.file} .recover` reads what is left")

    def sessions(self) -> list[Kept]:
        """All of them, by name."""
        ask = self._connection.execute
        try:
            rows = ask("SELECT id, name, acknowledged, lost, used_ns FROM session ORDER BY name")
            found = {row[0]: Kept(*row) for row in rows}
            for session, text in ask("SELECT session, filter FROM subscription ORDER BY session, filter"):
                found[session].filters.append(text)
            for session, publisher, sequence in ask("SELECT session, publisher, sequence FROM latest"):
                found[session].latest[publisher] = sequence
            for session, number, size in ask(
                "SELECT session, number, length(frame) FROM event ORDER BY session, number"
            ):
                found[session].sizes[number] = size
        except sqlite3.Error as error:
            raise StoreError(f"{self.file}: cannot be read: {error}") from error
        return list(found.values())

    def publishers(self) -> dict[str, int]:
        """The last number that is known of each."""
        try:
            return dict(self._connection.execute("SELECT name, sequence FROM publisher ORDER BY name").fetchall())
        except sqlite3.Error as error:
            raise StoreError(f"{self.file}: cannot be read: {error}") from error

    def page(self, session: int, after: int, size_bytes_max: int) -> list[tuple[int, bytes]]:
        """The next events of a session behind that number: at least one if there is one, then while there is room."""
        found: list[tuple[int, bytes]] = []
        size = 0
        try:
            rows = self._connection.execute(
                "SELECT number, frame FROM event WHERE session = ? AND number > ? ORDER BY number", (session, after)
            )
            with contextlib.closing(rows):
                for number, frame in rows:
                    found.append((number, frame))
                    size += len(frame)
                    if size >= size_bytes_max:
                        break
        except sqlite3.Error as error:
            raise StoreError(f"{self.file}: cannot be read: {error}") from error
        return found

    def apply(self, batch: Batch) -> None:
        """All of it or, with `StoreError`, nothing."""
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            self._write(batch)
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise StoreError(f"{self.file}: cannot be written: {error}") from error

    def _write(self, batch: Batch) -> None:
        ask, many = self._connection.execute, self._connection.executemany
        for session in batch.ended:
            for table, key in (
                ("session", "id"),
                ("subscription", "session"),
                ("event", "session"),
                ("latest", "session"),
            ):
                ask(f"DELETE FROM {table} WHERE {key} = ?", (session,))
        for session, (name, used_ns) in batch.began.items():
            ask("INSERT INTO session VALUES (?, ?, 0, 0, ?)", (session, name, used_ns))
        for (session, text), subscribed in batch.filters.items():
            if subscribed:
                ask("INSERT OR IGNORE INTO subscription VALUES (?, ?)", (session, text))
            else:
                ask("DELETE FROM subscription WHERE session = ? AND filter = ?", (session, text))
        if batch.events:
            many("INSERT INTO event VALUES (?, ?, ?)", batch.events)
        for session, (number, lost) in batch.acknowledged.items():
            ask("UPDATE session SET acknowledged = ?, lost = ? WHERE id = ?", (number, lost, session))
            ask("DELETE FROM event WHERE session = ? AND number <= ?", (session, number))
        if batch.latest:
            rows = [(session, publisher, sequence) for (session, publisher), sequence in batch.latest.items()]
            many("INSERT OR REPLACE INTO latest VALUES (?, ?, ?)", rows)
        if batch.forgotten:
            many("DELETE FROM latest WHERE session = ? AND publisher = ?", list(batch.forgotten))
        if batch.used:
            many(
                "UPDATE session SET used_ns = ? WHERE id = ?", [(used_ns, each) for each, used_ns in batch.used.items()]
            )
        if batch.publishers:
            known = [(name, sequence) for name, sequence in batch.publishers.items() if sequence]
            many("INSERT OR REPLACE INTO publisher VALUES (?, ?)", known)
            gone = [(name,) for name, sequence in batch.publishers.items() if not sequence]
            many("DELETE FROM publisher WHERE name = ?", gone)

    def sync(self) -> None:
        """What has been applied is on the disk when this returns."""
        try:
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        except sqlite3.Error as error:
            raise StoreError(f"{self.file}: cannot be written: {error}") from error

    def close(self) -> None:
        self._connection.close()
