"""Proofs on small trees: every interleaving of everything that can happen, with the real brain."""

from regraft.proving.kinds import CHANGES, KindName
from regraft.proving.prove import Proof, prove
from regraft.sim.scenario import PROTOCOLS

__all__ = ["CHANGES", "PROTOCOLS", "KindName", "Proof", "prove"]
