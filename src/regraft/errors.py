"""Every error that Regraft raises on purpose.

    RegraftError                trouble in the world: a file, a socket, Spark
    ├── NetworkError            a broker that cannot be reached, or that refuses us
    └── UsageError              the caller asked for something that cannot be
        ├── FilterError         a filter that is malformed, of mixed types, or too large
        └── ScenarioError       a scenario that does not describe a run

The command line prints either as one line and exits with 2 for a `UsageError` and 1 for any other `RegraftError`.
"""


class RegraftError(Exception):
    """Trouble in the world outside: a file that is cut off, a Spark master that does not answer."""


class NetworkError(RegraftError):
    """A broker that cannot be reached, or that refuses us."""


class UsageError(RegraftError):
    """The caller asked for something that cannot be."""


EXCERPT_LENGTH = 160


class FilterError(UsageError):
    """A filter that cannot be made; `position` counts characters of `text` from 0."""

    def __init__(self, text: str, position: int, reason: str) -> None:
        super().__init__(f"filter {_excerpt(text, position)}, position {position}: {reason}")
        self.text = text
        self.position = position
        self.reason = reason

    def __reduce__(self) -> tuple[type["FilterError"], tuple[str, int, str]]:
        return FilterError, (self.text, self.position, self.reason)


class ScenarioError(UsageError):
    """A scenario that does not describe a run; `place` is a file, a table or a key."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}")
        self.place = place
        self.reason = reason

    def __reduce__(self) -> tuple[type["ScenarioError"], tuple[str, str]]:
        return ScenarioError, (self.place, self.reason)


def _excerpt(text: str, position: int) -> str:
    """The text as a literal; of a long one what surrounds the position, since it can have any length."""
    begin = max(0, min(position - EXCERPT_LENGTH // 2, len(text) - EXCERPT_LENGTH))
    end = begin + EXCERPT_LENGTH
    return f"{'...' if begin else ''}{text[begin:end]!r}{'...' if end < len(text) else ''}"
