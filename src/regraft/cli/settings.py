"""`--set KEY=VALUE`, as every command that runs scenarios takes it."""

from collections.abc import Sequence

from regraft.errors import UsageError


def parse_settings(texts: Sequence[str] | None) -> dict[str, str]:
    return dict(_parse(text) for text in texts or ())


def _parse(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise UsageError(f"--set {text}: KEY=VALUE is expected, as in --set tree.brokers=50")
    return key.strip(), value.strip()
