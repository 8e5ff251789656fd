"""What an experiment is: a declaration, from which its runs and its results follow.

A *cell* is a scenario without protocol and seed; a *group* is a cell under one protocol, that is, one run a seed. A
*figure* has *series*, a series has *points*, and a point says where its value comes from: the group measured, and,
for an improvement, the group that it is compared with. Groups that several figures share are run once, because a
run's name says everything about it: `experiment/cell/protocol/seed`.

A cell's settings are `key=value` as on the command line (`regraft sim --set`), laid over the experiment's own. What
the user lays over both must not be what the experiment varies: a figure whose x is the number of brokers cannot have
it fixed.

What the paper says of a point stands beside the point, and only what its text says: the figures' curves are not
there in numbers, and none are read off them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from regraft.errors import ScenarioError, UsageError
from regraft.pipeline import SweepTask
from regraft.sim import Scenario, parse_scenario
from regraft.sim.scenario import SHORT_KEYS
from regraft.trace import LEVEL_SUMMED

Settings = Mapping[str, str]

SEEDS_MAX = 10_000
EXCHANGE_S = 2.0  # about how long an exchange takes


@dataclass(frozen=True, slots=True)
class Cell:
    name: str
    settings: Settings
    level: str = LEVEL_SUMMED


@dataclass(frozen=True, slots=True)
class Group:
    cell: Cell
    protocol: str


@dataclass(frozen=True, slots=True)
class Point:
    """`x` is None where the measure itself brings the x (time), or where there is none. `baseline` makes the value an
    improvement on that group in percent, seed by seed."""

    x: float | None
    group: Group
    baseline: Group | None = None
    paper: float | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """`measure` is what is counted in each run (`pipeline`'s column); `metric` is what the results call it. The name
    contains the protocol's. What is not drawn stands in the results and in the tables."""

    name: str
    metric: str
    measure: str
    points: tuple[Point, ...]
    drawn: bool = True


@dataclass(frozen=True, slots=True)
class Band:
    """What the paper says of a whole curve: where it lies."""

    low: float
    high: float
    text: str


@dataclass(frozen=True, slots=True)
class Figure:
    name: str
    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    bands: tuple[Band, ...] = ()


@dataclass(frozen=True, slots=True)
class Experiment:
    """`settings` are the free parameters and what is common to all cells."""

    name: str
    title: str
    settings: Settings
    figures: tuple[Figure, ...]
    seeds: int = 30
    overlaid: Settings = field(default_factory=dict)  # the user's

    def groups(self) -> list[Group]:
        """Every group that some figure needs, once."""
        found: dict[tuple[str, str], Group] = {}
        for figure in self.figures:
            for series in figure.series:
                for point in series.points:
                    for group in (point.group, point.baseline):
                        if group is None:
                            continue
                        known = found.setdefault((group.cell.name, group.protocol), group)
                        assert known == group, f"two different cells are called {group.cell.name}"
        return list(found.values())

    def scenario(self, group: Group) -> Scenario:
        """As all the settings together make it."""
        settings = {**self.settings, **group.cell.settings, **self.overlaid}
        settings |= {"name": group.cell.name, "protocol": group.protocol}
        return parse_scenario("", settings, f"{self.name}/{group.cell.name}")

    def run_name(self, group: Group, seed: int) -> str:
        return f"{self.group_name(group)}/{seed}"

    def group_name(self, group: Group) -> str:
        """A run's name without its seed."""
        return f"{self.name}/{group.cell.name}/{group.protocol}"

    def tasks(self, seeds: Sequence[int]) -> Iterator[SweepTask]:
        for group in self.groups():
            scenario = self.scenario(group)
            for seed in seeds:
                name = self.run_name(group, seed)
                yield SweepTask(name, scenario, seed, group.cell.level, cost(scenario))

    def restricted(self, figures: Sequence[str]) -> "Experiment":
        """To these figures; `6` stands for all whose names begin with it."""
        for wanted in figures:
            if not any(figure.name.startswith(wanted) for figure in self.figures):
                names = ", ".join(figure.name for figure in self.figures)
                raise UsageError(f"{self.name} has no figure {wanted!r}; it has {names}")
        kept = tuple(figure for figure in self.figures if not figures or figure.name.startswith(tuple(figures)))
        return replace(self, figures=kept)

    def overlay(self, settings: Settings) -> "Experiment":
        """With the user's settings laid over everything; refused where the experiment varies the same."""
        varied = {_full(key) for group in self.groups() for key in group.cell.settings} | {"protocol", "name"}
        for key in settings:
            if _full(key) in varied:
                raise UsageError(f"--set {key}: {self.name} varies this itself")
        overlaid = replace(self, overlaid=dict(settings))
        overlaid._refuse_what_is_no_setting()
        return overlaid

    def _refuse_what_is_no_setting(self) -> None:
        """Before anything has been run, and as the user wrote it."""
        for group in self.groups():
            try:
                self.scenario(group)
            except ScenarioError as error:
                wrong = [key for key, value in self.overlaid.items() if not self._makes_sense(group, {key: value})]
                said = " ".join(f"{key}={self.overlaid[key]}" for key in wrong[:1] or self.overlaid)
                raise UsageError(f"--set {said}: {error.reason} (regraft lab list shows what may be set)") from error

    def _makes_sense(self, group: Group, settings: Settings) -> bool:
        try:
            replace(self, overlaid=settings).scenario(group)
        except ScenarioError:
            return False
        return True


def _full(key: str) -> str:
    return SHORT_KEYS.get(key, key)


def seed_numbers(count: int) -> range:
    if not 1 <= count <= SEEDS_MAX:
        raise UsageError(f"--seeds {count}: must be between 1 and {SEEDS_MAX}")
    return range(1, count + 1)


def cost(scenario: Scenario) -> float:
    """About how many hops a run takes, so that a sweep can begin with its longest runs; a guess is enough.

    An event goes to a share of the brokers that grows with the number of subscribers; a change costs a multiple of
    the brokers, as trees get longer.
    """
    brokers, changes, publications = scenario.tree.brokers, scenario.changes, scenario.publications
    count = 0.0 if changes is None else (changes.until_s - changes.from_s) / changes.every_s
    count = count if changes is None else min(count, float(changes.count_max))
    publishing_s = max(0.0, publications.until_s - publications.from_s)
    if publications.during == "exchanges":
        publishing_s = min(publishing_s, EXCHANGE_S * count)
    publishers = publications.publishers or brokers * scenario.clients.per_broker
    events = publishers * publications.rate_hz * publishing_s
    return 0.3 * events * brokers + 5.0 * count * brokers + 100.0 * brokers
