"""`regraft covers`: the question that decides which subscriptions a broker need not forward."""

import json
from typing import Annotated

import typer


def covers(
    wider: Annotated[str, typer.Argument(metavar="F", help="The filter that may cover.")],
    narrower: Annotated[str, typer.Argument(metavar="G", help="The filter that may be covered.")],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the answer and both canonical filters as JSON.")
    ] = False,
) -> None:
    """Tell whether filter F matches every event that filter G matches.

    Prints yes (exit code 0) or no (exit code 1). A yes is proven; a no means that there is no proof, which for filters
    without OR and LIKE means that some event tells them apart.

    \b
    Example:
        regraft covers "price > 10" "price > 20 AND symbol = 'IBM'"
    """
    from regraft.model.filters import Filter, covers

    f, g = Filter.parse(wider), Filter.parse(narrower)
    answer = covers(f, g)
    print(json.dumps({"covers": answer, "f": f.text, "g": g.text}) if as_json else "yes" if answer else "no")
    raise typer.Exit(0 if answer else 1)
