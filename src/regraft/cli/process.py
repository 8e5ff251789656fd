"""How a command ends.

| what happened | exit code | standard error |
|---|---|---|
| done | 0, or the command's own answer (`covers`) | |
| trouble in the world: `RegraftError`, a file that cannot be read | 1 | one line |
| the user's mistake: `UsageError`, an option that does not exist | 2 | one line |
| Ctrl-C | 130 | |
| the terminal has gone, or we are told to end (SIGHUP, SIGTERM) | 129, 143 | |
| whoever read our output has gone (`regraft match … \\| head`) | 141 | |

These are what a shell reports for a process that died of the signal. The signals themselves are not left to kill us:
a process that is half-way through a file, or has a Java virtual machine or sockets at its hands, has to put them away
first. Anything else is our own bug and keeps its traceback.
"""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

import typer

from regraft.errors import RegraftError, UsageError

TROUBLE = 1
MISTAKE = 2
INTERRUPTED = 130
READER_GONE = 141
DIED_OF = 128  # and the number of the signal


class _ToldToEndError(BaseException):
    """A signal asked for the end; like KeyboardInterrupt, nobody is to take it for trouble that can be dealt with."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def run(app: typer.Typer, arguments: Sequence[str] | None = None) -> int:
    """Run one command line (the process's own by default) and return its exit code."""
    command = typer.main.get_command(app)
    if sys.stdout is None:
        return _complain("the standard output is closed", TROUBLE)
    try:
        with (
            _signals_raised(),
            command.make_context("regraft", list(sys.argv[1:] if arguments is None else arguments)) as context,
        ):
            command.invoke(context)
        sys.stdout.flush()
    except typer.Exit as asked:
        return asked.exit_code
    except typer.TyperException as error:
        return _complain(f"{error.format_message()} (see regraft --help)", error.exit_code)
    except UsageError as error:
        return _complain(str(error), MISTAKE)
    except RegraftError as error:
        return _complain(str(error), TROUBLE)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except _ToldToEndError as told:
        return DIED_OF + told.number
    except BrokenPipeError:
        # What is still buffered would be tried again when the interpreter ends, and fail again, aloud.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_GONE
    except OSError as error:
        return _complain(f"{error.filename}: {error.strerror}" if error.filename else str(error), TROUBLE)
    return 0


@contextmanager
def _signals_raised() -> Iterator[None]:
    """What would kill the process at once ends the block as an exception; a signal that is ignored stays so."""

    def end(number: int, frame: FrameType | None) -> None:
        raise _ToldToEndError(number)

    before = {number: signal.getsignal(number) for number in (signal.SIGHUP, signal.SIGTERM)}
    for number, handler in before.items():
        if handler is signal.SIG_DFL:
            signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _complain(message: str, exit_code: int) -> int:
    print(f"regraft: {' '.join(message.splitlines())}", file=sys.stderr)
    return exit_code
