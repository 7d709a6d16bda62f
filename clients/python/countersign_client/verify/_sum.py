"""The service's own statements, and the sum over a snapshot: every leaf below it is in some agent's row or a statement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256 as _sha256

from .._json import JsonObject, is_object, parse_canonical
from ._bytes import base64_encode, sha256
from ._logged import Statement, read_statement
from ._note import leaf_hash
from ._outcome import Check, counted, fail, passed, skip
from ._reading import is_count, read_object, require_index, require_objects, require_text
from ._statement import AGENT_ACTION, AGENT_CHANGE, AGENT_HEADS, DECISION, EPOCH, KEY_EVENT, PLANTED_REQUESTS, ROSTER, RULESET
from ._trust import Trust

ROW_BYTES = 72
_OF_RECORDS = (AGENT_ACTION, DECISION, AGENT_CHANGE)
_OF_SERVICE = (KEY_EVENT, EPOCH, AGENT_HEADS, RULESET, ROSTER, PLANTED_REQUESTS)


@dataclass(frozen=True)
class Listed:
    statement: Statement
    kind: str
    """Predicate type, if it is a known one, by the signed bytes."""
    origin: str
    index: int


@dataclass(frozen=True)
class SumSource:
    """Where the rows of the snapshot and the pages of GET /v1/log/statements are."""

    rows: Callable[[], bytes | None]
    statements: Callable[[int], JsonObject]


def _read_listed(given: JsonObject) -> Listed:
    statement = read_statement(given)
    kind = (parse_canonical(statement.payload) or {}).get("predicateType")
    known = str(kind) if kind in _OF_RECORDS + _OF_SERVICE else ""
    return Listed(statement, known, require_text(given, "log_origin"), require_index(given, "log_index"))


def read_statement_list(
    read: Callable[[int], JsonObject], end: tuple[str, int, int] | None = None
) -> list[Listed] | Check:
    """All of them, numbered without a gap; ``end``: or those up to an index of a log, and at most so many."""
    found = list[Listed]()
    start = 1
    while True:
        page = read_object(read(start))
        rows, following = require_objects(page, "statements"), page.get("next", "")
        for row in rows:
            listed = _read_listed(row)
            if require_index(row, "number") != len(found) + 1 or (end is not None and len(found) == end[2]):
                return fail("page_unending", **{"from": start})
            found.append(listed)
            if end is not None and listed.origin == end[0] and listed.index >= end[1]:
                return found
        if following is None:
            return found
        if following != len(found) + 1 or isinstance(following, bool) or not rows:
            return fail("page_unending", **{"from": start})
        start = len(found) + 1


def _held_before(listed: Listed) -> int | None:
    """Number of leaves of a closed log, by the statement that began the next one; None if it doesn't say."""
    if listed.kind != EPOCH:
        return 0
    predicate = (parse_canonical(listed.statement.payload) or {}).get("predicate")
    held = predicate.get("held") if is_object(predicate) else None
    return require_index(held, "size") if is_object(held) else None


def _below(found: Sequence[Listed], heads: JsonObject) -> list[Listed]:
    """Selects those of earlier logs, and of the snapshot's own below its size."""
    origin, size = heads["log_origin"], require_index(heads, "covers_size")
    begin = next((at for at, one in enumerate(found) if one.origin == origin), 0)
    return [one for at, one in enumerate(found) if (one.index < size if one.origin == origin else at < begin)]


def _find_broken(found: Sequence[Listed], trust: Trust) -> int | None:
    """A statement counts once: each has a time or a number of its own."""
    seen = set[object]()
    for number, one in enumerate(found, 1):
        names = {(one.index, one.origin), sha256(one.statement.payload)}
        if names & seen or one.kind in _OF_RECORDS or one.statement.find_maker(trust) is None:
            return number
        seen |= names
    return None


def _root_of(leaves: list[bytes]) -> bytes:
    """RFC 6962: pairs from the left, an odd one moves up as it is."""
    level = leaves or [sha256()]
    while len(level) > 1:
        paired = [sha256(b"\1", level[at], level[at + 1]) for at in range(0, len(level) - 1, 2)]
        level = paired + level[len(paired) * 2 :]
    return level[0]


def _are_rows_of(rows: bytes, heads: JsonObject) -> bool:
    split = [rows[at : at + ROW_BYTES] for at in range(0, len(rows), ROW_BYTES)]
    numbers = [int.from_bytes(row[32:40], "big") for row in split]
    is_whole = len(rows) % ROW_BYTES == 0 and all(1 <= number and is_count(number) for number in numbers)
    is_rising = all(one[:32] < other[:32] for one, other in zip(split, split[1:], strict=False))
    return (
        is_whole
        and is_rising
        and (len(split), sum(numbers)) == (heads["agents"], heads["entries"])
        and base64_encode(_root_of(list(map(leaf_hash, split)))) == heads["root"]
        and _sha256(rows).hexdigest() == heads["digest"]
    )


def check_sum(heads: JsonObject, own: Statement, origin: str, index: int, source: SumSource, trust: Trust) -> Check:
    """``own``: the statement of the snapshot, at this place of the log, up to which the list has to lead."""
    names = ("entries", "statements", "earlier_size", "covers_size")
    entries, statements, earlier, covered = (require_index(heads, name) for name in names)
    rows = source.rows()
    found = read_statement_list(source.statements, (origin, index, earlier + index + 1))
    if isinstance(found, Check):
        return found
    if not found or (found[-1].index, found[-1].statement.payload) != (index, own.payload):
        return fail("sum_list_cut", index=index)
    if rows is not None and not _are_rows_of(rows, heads):
        return fail("sum_rows_mismatch")
    broken = _find_broken(found, trust)
    if broken is not None:
        return fail("sum_statement_invalid", number=broken)
    below = _below(found, heads)
    held = [_held_before(one) for one in below]
    closed = sum(size or 0 for size in held)
    adds_up = entries + statements == earlier + covered and entries + len(below) == closed + covered
    if None in held or not adds_up:
        return fail("sum_mismatch", leaves=closed + covered, counted=entries + len(below))
    if rows is None:
        return skip("sum_not_run")
    return passed(f"{counted(closed + covered, 'leaf', 'leaves')}: {entries:,} in {counted(require_index(heads, 'agents'), 'record')}, {counted(len(below), 'statement')} of the service")
