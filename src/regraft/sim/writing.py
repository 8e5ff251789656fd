"""A scenario as TOML: what `read_scenario` reads back as the same; what is as by default is left out."""

import json
from typing import Any

import msgspec

from regraft.sim.scenario import Changes, Moves, Scenario


def scenario_text(scenario: Scenario) -> str:
    defaults = msgspec.to_builtins(Scenario(changes=Changes(), moves=Moves()))
    data = msgspec.to_builtins(scenario)
    steps = data.pop("step")
    tables = {key: data.pop(key) for key in list(data) if isinstance(data[key], dict)}
    lines = [f"{key} = {_value(value)}" for key, value in data.items() if value is not None and value != defaults[key]]
    for name, table in tables.items():
        rows = [f"{key} = {_value(value)}" for key, value in table.items() if value != defaults[name][key]]
        if rows or name in ("changes", "moves"):
            lines += ["", f"[{name}]", *rows]
    for step in steps:
        lines += [
            "",
            "[[step]]",
            *(f"{key} = {_value(value)}" for key, value in step.items() if value not in ("", None, False)),
        ]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case dict():
            return "{" + ", ".join(f"{_value(key)} = {_value(item)}" for key, item in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(_value(item) for item in value) + "]"
    return repr(value)
