"""What a live broker keeps on disk of its clients' sessions, in one SQLite file."""

from regraft.store.journal import Batch, Fsync, Journal, Kept, StoreError

__all__ = ["Batch", "Fsync", "Journal", "Kept", "StoreError"]
