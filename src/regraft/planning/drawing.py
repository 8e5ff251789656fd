"""A plan as a picture: the tree as it is, the links that go dashed and red, those that come green.

The brokers stand on rings around the middle of the current tree, those that come hung on it, each with a sector as wide
as it has leaves behind it; so links that are there already do not cross, and what crosses them is what is new. The
outermost ring has room for all leaves side by side, hence a thousand brokers are a large picture and not a blot; above
`NAMES_MAX` brokers names are shown when the pointer rests on one. The text depends on the two trees alone.
"""

import math
from collections.abc import Sequence
from html import escape

from regraft.model.trees import Adjacency, Link, in_order, parents
from regraft.planning.plan import Group, LeafAddition, carry_out

NAMES_MAX = 200
LEAF_WIDTH = 26.0  # along the outermost ring, in pixels
RING_WIDTH = 46.0  # from one ring to the next
RADIUS = 5.0
MARGIN = 40.0

STYLE = """
line { stroke: #999999; stroke-width: 1.5 }
.goes { stroke: #d62728; stroke-dasharray: 6 4; stroke-width: 2 }
.comes { stroke: #2ca02c; stroke-width: 2.5 }
circle { fill: #4c78a8 }
circle.goes { fill: #d62728; stroke: none }
circle.comes { fill: #2ca02c; stroke: none }
text { font: 11px sans-serif; fill: #333333 }
"""


def svg(current: Adjacency, wanted: Adjacency, groups: Sequence[Group]) -> str:
    """The whole plan in one picture, as the text of an SVG file."""
    tree = {broker: dict(neighbours) for broker, neighbours in current.items()}
    for group in groups:
        for step in group:
            if isinstance(step, LeafAddition):
                carry_out(tree, step)
    places, radius = _places(tree)
    before, after = _links(current), _links(wanted)
    lines = []
    for pair in before | after:
        kind, name = _class(pair in after, pair in before), escape("-".join(pair))
        lines.append(f"<line{kind} {_ends(places, pair)}><title>{name}</title></line>")
    dots = []
    for broker, (x, y) in places.items():
        name = escape(broker)
        kind = _class(broker in wanted, broker in current)
        dots.append(f'<circle{kind} cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS}"><title>{name}</title></circle>')
        if len(places) <= NAMES_MAX:
            dots.append(f'<text x="{x + RADIUS + 2:.1f}" y="{y - RADIUS:.1f}">{name}</text>')
    half = radius + MARGIN
    box = f"{-half:.0f} {-half:.0f} {2 * half:.0f} {2 * half:.0f}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}"><style>{STYLE}</style>'
    return "\n".join([head, *lines, *dots, "</svg>\n"])


def _class(stays: bool, was_there: bool) -> str:
    if stays and was_there:
        return ""
    return ' class="comes"' if stays else ' class="goes"'


def _links(adjacency: Adjacency) -> dict[Link, None]:
    return {in_order(a, b): None for a, neighbours in adjacency.items() for b in neighbours}


def _ends(places: dict[str, tuple[float, float]], pair: Link) -> str:
    (x1, y1), (x2, y2) = places[pair[0]], places[pair[1]]
    return f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'


def _places(tree: Adjacency) -> tuple[dict[str, tuple[float, float]], float]:
    """Where each broker stands, and how far the outermost is from the middle."""
    middle = _middle(tree)
    above = parents(tree, middle)  # a parent comes before its children
    leaves = {broker: 1 if len(tree[broker]) == 1 and broker != middle else 0 for broker in tree}
    depth: dict[str, int] = {}
    for broker, parent in above.items():
        depth[broker] = depth[parent] + 1 if parent else 0
    for broker in reversed(above):
        if above[broker]:
            leaves[above[broker]] += leaves[broker]
    rings = max(depth.values())
    radius = max(rings * RING_WIDTH, leaves[middle] * LEAF_WIDTH / (2 * math.pi))
    turn = 2 * math.pi / leaves[middle]
    begin = {middle: 0.0}  # of each broker's sector, in leaves
    taken: dict[str, float] = {}
    places = {}
    for broker, parent in above.items():
        if parent:
            begin[broker] = begin[parent] + taken.get(parent, 0.0)
            taken[parent] = taken.get(parent, 0.0) + leaves[broker]
        angle = turn * (begin[broker] + leaves[broker] / 2)
        distance = radius * depth[broker] / rings
        places[broker] = (distance * math.cos(angle), distance * math.sin(angle))
    return places, radius


def _middle(tree: Adjacency) -> str:
    """Half way along a longest way through the tree: the farthest from anywhere is the end of one."""
    end = list(parents(tree, next(iter(tree))))[-1]
    above = parents(tree, end)
    way = [list(above)[-1]]
    while above[way[-1]]:
        way.append(above[way[-1]])
    return way[len(way) // 2]
