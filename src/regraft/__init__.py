"""Regraft: a content-based publish/subscribe network that is rewired while it runs, and loses nothing."""

__version__ = "0.1.0"
