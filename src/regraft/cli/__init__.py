"""The commands: one module each, and thin.

A command reads its arguments, calls one room and prints what comes back, as words or with `--json` as JSON. It imports
that room inside its function: `regraft --help` must not wait for Spark. How a command ends, with which exit code and
what on the standard error, is decided in `process.py` for all of them.
"""

import typer

from regraft.cli import (
    bench,
    broker,
    covers,
    demo,
    explain,
    lab,
    match,
    operating,
    plan,
    prove,
    pub,
    replay,
    sim,
    soak,
    sub,
    up,
)
from regraft.cli.process import run

__all__ = ["app", "main"]

app = typer.Typer(
    name="regraft",
    help="A content-based publish/subscribe network that is rewired while it runs, and loses nothing.",
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.command("match")(match.match)
app.command("covers")(covers.covers)
app.command("sim")(sim.sim)
app.command("prove")(prove.prove)
app.command("soak")(soak.soak)
app.command("plan")(plan.plan)
app.command("replay")(replay.replay)
app.command("explain")(explain.explain)
app.command("broker")(broker.broker)
app.command("up")(up.up)
app.command("pub")(pub.pub)
app.command("sub")(sub.sub)
app.command("status")(operating.status)
app.command("graph")(operating.graph)
app.command("exchange")(operating.exchange)
app.command("link")(operating.link)
app.command("unlink")(operating.unlink)
app.add_typer(lab.app, name="lab")
app.command("bench")(bench.bench)


def main() -> None:
    """The `regraft` command."""
    raise SystemExit(run(app))
