"""How a command ends.

| what happened | exit code | standard error |
|---|---|---|
| done | 0, or the command's own answer (`covers`) | |
| trouble in the world: `RegraftError`, a file that cannot be read | 1 | one line |
| the user's mistake: `UsageError`, an option that does not exist | 2 | one line |
| Ctrl-C | 130 | |
| whoever read our output has gone (`regraft match … \\| head`) | 141 | |

130 and 141 are what a shell reports for a process that died of SIGINT and SIGPIPE. The signals themselves are not
left to kill us: a process with a Java virtual machine or sockets at its hands has to put them away first. Anything
else is our own bug and keeps its traceback.
"""

import os
import sys
from collections.abc import Sequence

import typer

from regraft.errors import RegraftError, UsageError

TROUBLE = 1
MISTAKE = 2
INTERRUPTED = 130
READER_GONE = 141


def run(app: typer.Typer, arguments: Sequence[str] | None = None) -> int:
    """Run one command line (the process's own by default) and return its exit code."""
    command = typer.main.get_command(app)
    try:
        with command.make_context("regraft", list(sys.argv[1:] if arguments is None else arguments)) as context:
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
    except BrokenPipeError:
        # What is still buffered would be tried again when the interpreter ends, and fail again, aloud.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_GONE
    except OSError as error:
        return _complain(f"{error.filename}: {error.strerror}" if error.filename else str(error), TROUBLE)
    return 0


def _complain(message: str, exit_code: int) -> int:
    print(f"regraft: {' '.join(message.splitlines())}", file=sys.stderr)
    return exit_code
