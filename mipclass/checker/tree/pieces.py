"""Checks a tree of boxes that comes in pieces, several at a time.

The first piece begins with the faces of the cube, every other piece with the box that it states. Where a tree hands a box over, it names
a later piece that begins with exactly this box. So each piece can be checked on its own, and together they cover the faces: a box that
is handed over is a box of a later piece, and the last piece hands nothing over.

One piece per thread is unpacked at a time, which bounds the memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from itertools import islice
from threading import local
from typing import Any

import numpy as np

from ..arithmetic import Rejected, field, unpack, whole_list
from ..patience import helpers
from .stream import REASONS, stream


def check_pieces(pieces: Any, cloud: Any, bound: int, lemmas: Any, place: str) -> int:
    """The number of nodes of all pieces; Rejected unless every leaf reaches the bound."""
    from .. import box_kernel as kernel

    if not isinstance(pieces, list) or not pieces:
        raise Rejected(place, "expected a list of pieces")
    roots = [kernel.faces(cloud.points.shape[1])]
    roots += [_root(piece, cloud.points.shape[1], f"{place}, piece {k}") for k, piece in enumerate(pieces) if k > 0]

    room = local()  # of each thread, for one walk: it is large, and the system takes its time to hand it out

    def check(number: int) -> int:
        if not hasattr(room, "way"):
            room.way = kernel.Way.first(cloud.points)
        return _check_piece(number, pieces, roots, cloud, bound, lemmas, room.way, f"{place}, piece {number}")

    threads = helpers()
    if threads == 1:
        return sum(check(number) for number in range(len(pieces)))
    with ThreadPoolExecutor(threads) as executor:
        return sum(_in_turn(executor, check, len(pieces), threads))


def _in_turn(executor: ThreadPoolExecutor, check: Any, count: int, threads: int) -> Iterator[int]:
    """The answers for all pieces; the first error ends it, before further pieces are begun."""
    numbers = iter(range(count))
    running: set[Future[int]] = set()
    while True:
        for number in islice(numbers, threads - len(running)):
            running.add(executor.submit(copy_context().run, check, number))
        if not running:
            return
        done, running = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            yield future.result()


def _check_piece(
    number: int, pieces: list[Any], roots: list[Any], cloud: Any, bound: int, lemmas: Any, way: Any, place: str
) -> int:
    """The nodes of one piece; Rejected unless every leaf reaches the bound or is the root of a later piece."""
    from .. import box_kernel as kernel

    handed_to = unpack(field(pieces[number], "handed_to", place), "i4", place)
    if not ((handed_to > number) & (handed_to < len(pieces))).all():
        raise Rejected(place, "it hands boxes to a piece that does not come later")
    nodes = stream(pieces[number], place, counts="u2")
    code, node, handed = kernel.walk_from(roots[number], cloud, bound, nodes, lemmas, len(handed_to), way)
    if code != kernel.OK:
        raise Rejected(f"{place}, node {node}", REASONS[code].format(bound=bound))
    for k, other in enumerate(handed_to.tolist()):
        if not (
            np.array_equal(handed.low[k], roots[other].low[0]) and np.array_equal(handed.high[k], roots[other].high[0])
        ):
            raise Rejected(place, f"piece {other} does not begin with the box that is handed to it")
    return int(node)


def _root(piece: Any, columns: int, place: str) -> Any:
    """The box that a piece begins with."""
    from ..box_kernel import GRID_BITS, Boxes

    corners = [whole_list(field(piece, name, place), place) for name in ("low", "high")]
    one = 1 << GRID_BITS
    if any(len(corner) != columns or not all(-one <= value <= one for value in corner) for corner in corners):
        raise Rejected(place, f"its box must have {columns} coordinates from {-one} to {one}")
    low, high = (np.array([corner], np.int64) for corner in corners)
    return Boxes(low, high)
