"""An overlay as words and as a picture: a table of what its brokers say, its tree as text, as DOT and as SVG."""

from html import escape

from regraft.model.trees import Adjacency, component
from regraft.net.operating import Overlay

COLUMN, ROW, MARGIN, RADIUS = 110, 90, 50, 24


def status_table(overlay: Overlay) -> str:
    lines = [f"{'broker':<10}{'address':<22}{'clients':>8}{'filters':>9}{'events in':>11}{'delivered':>11}  links"]
    for name, status in overlay.brokers.items():
        links = [
            link.neighbour + ("" if link.up else " (not up)") + ("" if link.of_tree else " (of no tree yet)")
            for link in status.links
        ]
        links += [f"{missing} (missing)" for missing in status.missing]
        counters = status.counters
        lines.append(
            f"{name:<10}{status.address:<22}{status.clients:>8}{status.filters:>9}{counters.get('events_in', 0):>11}"
            f"{counters.get('deliveries', 0):>11}  {', '.join(links)}{'  exchanging' if status.locked else ''}"
        )
    lines += [f"no answer: {reason}" for reason in overlay.unreachable.values()]
    held = sum(status.events_held for status in overlay.brokers.values())
    lines += [f"acknowledged events that wait for a broker that is missing: {held}"] if held else []
    trouble = {
        "refused": "refused peers",
        "events_looped": "events that came back by a loop",
        "events_lost_by_slow_clients": "events lost by slow clients",
        "events_lost_by_full_sessions": "events lost by full sessions",
        "events_not_settled": "acknowledged events that may be lost",
        "sessions_not_written": "times that sessions could not be written",
        "tables_differed": "times that tables differed",
    }
    lines += [f"{words}: {overlay.total(counter)}" for counter, words in trouble.items() if overlay.total(counter)]
    return "\n".join(lines)


def as_text(overlay: Overlay) -> str:
    """The tree, from the first broker down."""
    tree = overlay.tree()
    lines: list[str] = []
    for root in _roots(tree):
        stack: list[tuple[str, str, str, str]] = [(root, "", "", "")]
        while stack:
            name, above, branch, indent = stack.pop()
            lines.append(f"{branch}{name}  {overlay.brokers[name].address}")
            below = sorted(other for other in tree[name] if other != above)
            for number, other in reversed(list(enumerate(below))):
                is_last = number == len(below) - 1
                next_indent = indent + ("   " if is_last else "│  ")
                stack.append((other, name, indent + ("└─ " if is_last else "├─ "), next_indent))
    return "\n".join([*lines, *(f"no answer: {reason}" for reason in overlay.unreachable.values())])


def as_dot(overlay: Overlay) -> str:
    lines = ["graph overlay {"]
    lines += [f'  "{name}" [label="{name}\\n{status.address}"];' for name, status in overlay.brokers.items()]
    lines += [f'  "{one}" -- "{other}";' for one, other in links_of(overlay.tree())]
    return "\n".join([*lines, "}"])


def as_svg(overlay: Overlay) -> str:
    """A broker under the one that it hangs on, the leaves side by side."""
    tree = overlay.tree()
    places: dict[str, tuple[float, int]] = {}
    leaves = 0
    for root in _roots(tree):
        above, depth = {root: ""}, {root: 0}
        # depth first, so that what hangs together stands together
        stack, sequence = [root], []
        while stack:
            name = stack.pop()
            sequence.append(name)
            below = sorted((other for other in tree[name] if other != above[name]), reverse=True)
            for other in below:
                above.setdefault(other, name)
                depth[other] = depth[name] + 1
            stack += below
        for name in sequence:
            if all(other == above[name] for other in tree[name]):
                places[name] = (leaves, depth[name])
                leaves += 1
        for name in reversed(sequence):
            if name not in places:
                columns = [places[other][0] for other in tree[name] if other != above[name]]
                places[name] = (sum(columns) / len(columns), depth[name])
    width = 2 * MARGIN + COLUMN * max(leaves - 1, 0)
    height = 2 * MARGIN + ROW * max((row for _, row in places.values()), default=0)
    at = {name: (MARGIN + COLUMN * column, MARGIN + ROW * row) for name, (column, row) in places.items()}
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">',
        *(
            f'<line x1="{at[a][0]:g}" y1="{at[a][1]}" x2="{at[b][0]:g}" y2="{at[b][1]}" stroke="#555"/>'
            for a, b in links_of(tree)
        ),
    ]
    for name, (x, y) in at.items():
        title = f"{name} at {overlay.brokers[name].address}, {overlay.brokers[name].clients} clients"
        lines.append(
            f'<g><title>{escape(title)}</title><circle cx="{x:g}" cy="{y}" r="{RADIUS}" fill="#eef" stroke="#335"/>'
            f'<text x="{x:g}" y="{y + 5}" text-anchor="middle" font-size="14">{escape(name)}</text></g>'
        )
    return "\n".join([*lines, "</svg>"])


def links_of(tree: Adjacency) -> list[tuple[str, str]]:
    """Each once, the end with the smaller name first."""
    return [(one, other) for one in tree for other in tree[one] if one < other]


def _roots(tree: Adjacency) -> list[str]:
    """The first broker of each part that hangs together."""
    roots: list[str] = []
    seen: dict[str, None] = {}
    for name in tree:
        if name not in seen:
            roots.append(name)
            seen |= component(tree, name)
    return roots
