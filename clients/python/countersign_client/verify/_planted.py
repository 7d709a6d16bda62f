"""``planted.json`` of an evidence pack: requests with a fact made wrong that a group should have caught, committed to by the log
before, and opened in it (docs/wire.md, Planted requests)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

from .._iso_time import is_time
from .._json import Json, JsonObject, canonical_hash, equal, is_list, is_object
from ._authorization_shape import is_salt
from ._bytes import sha256
from ._outcome import Check, counted, fail, passed
from ._statement import PLANTED_REQUESTS, UUID, is_hash, parse_planted
from ._sum import Listed
from ._trust import Trust

_FACTS = ("payee", "amount", "agent")
_CAUGHT = ("denied", "corrected")
_OUTCOMES = (*_CAUGHT, "approved", "changed", "expired", "withdrawn")


@dataclass(frozen=True)
class _Opening:
    digest: str
    schedule: str
    entry: str
    """Hash of what was committed to."""
    at: str
    ended_at: str
    request_hash: str | None
    is_caught: bool


@dataclass(frozen=True)
class _Schedule:
    digest: str
    name: str
    group: str
    start: str
    until: str
    entries: frozenset[str]
    openings: list[_Opening]


def _read_fields(value: Json, *names: str) -> JsonObject:
    if not is_object(value) or set(value) != set(names) or not equal(value.get("version", 1), 1):
        raise ValueError("expected an object of version 1 with exactly these fields")
    return value


def _read_list(value: Json) -> list[Json]:
    if not is_list(value):
        raise ValueError("expected a list")
    return value


def _require(*facts: bool) -> None:
    if not all(facts):
        raise ValueError("not of this form")


def _is_id(value: Json) -> bool:
    return isinstance(value, str) and UUID.fullmatch(value) is not None


def _read_opening(value: Json) -> _Opening:
    given = _read_fields(value, "version", "schedule", "entry", "request_hash", "outcome", "ended_at")
    entry = _read_fields(given["entry"], "request_id", "at", "fact", "salt")
    outcome, request_hash = given["outcome"], given["request_hash"]
    _require(isinstance(entry["request_id"], str), is_time(entry["at"]), entry["fact"] in _FACTS, is_salt(entry["salt"]))
    _require(is_hash(given["schedule"]), is_time(given["ended_at"]), outcome in _OUTCOMES)
    _require(is_hash(request_hash) or (request_hash is None and outcome == "withdrawn"))
    texts = (str(given["schedule"]), canonical_hash(entry), str(entry["at"]), str(given["ended_at"]))
    return _Opening(canonical_hash(given), *texts, cast("str | None", request_hash), outcome in _CAUGHT)


def _read_schedule(value: Json, organization: Json) -> _Schedule:
    packed = _read_fields(value, "name", "schedule", "openings")
    given = _read_fields(packed["schedule"], "version", "organization", "group", "from", "until", "entries")
    start, until, entries = given["from"], given["until"], _read_list(given["entries"])
    _require(isinstance(packed["name"], str), given["organization"] == organization, _is_id(given["group"]))
    _require(is_time(start), is_time(until), entries != [], all(map(is_hash, entries)))
    hashes = list(map(str, entries))
    _require(str(start) < str(until), all(one < other for one, other in pairwise(hashes)))
    texts = (str(packed["name"]), str(given["group"]), str(start), str(until))
    openings = [_read_opening(one) for one in _read_list(packed["openings"])]
    return _Schedule(canonical_hash(given), *texts, frozenset(hashes), openings)


def _read_planted(given: JsonObject) -> tuple[str, list[_Schedule]]:
    organization = _read_fields(given, "version", "organization", "schedules")["organization"]
    _require(_is_id(organization))
    return str(organization), [_read_schedule(one, organization) for one in _read_list(given["schedules"])]


def _find_opened(schedule: _Schedule, logged: Sequence[JsonObject]) -> dict[str, int]:
    """Openings in the log → the first place of each."""
    places = [(str(one["digest"]), at) for at, one in enumerate(logged) if one.get("schedule") == schedule.digest]
    return dict(reversed(places))


def _find_schedule_fault(
    schedule: _Schedule, logged: Sequence[JsonObject], period: tuple[str, str], used: Mapping[str, str]
) -> str | None:
    own, start, until = schedule.digest, schedule.start, schedule.until
    stated = ((at, one) for at, one in enumerate(logged) if one["kind"] == "schedule" and one["digest"] == own)
    place, statement = next(stated, (0, None))
    if statement is None or statement["until"] != until or str(statement["at"]) > start:
        return f"the log doesn't have the schedule {own} before it begins"
    if not period[0] < until <= period[1]:
        return f"the schedule {own} doesn't end in the period"
    opened, openings = _find_opened(schedule, logged), schedule.openings
    if opened.keys() - {one.digest for one in openings}:
        return f"an opening of {own} is missing"
    if len({one.entry for one in openings}) < len(openings):
        return f"an entry of {own} is opened twice"
    for one in openings:
        if one.schedule != own or opened.get(one.digest, -1) < place:
            return f"the log doesn't have an opening of {own} after it"
        if one.entry not in schedule.entries:
            return f"an opening is of nothing that {own} commits to"
        if not start <= one.at <= until or one.ended_at < one.at:
            return f"an opening of {own} is of another time"
        if one.request_hash in used:
            return "a planted request was approved"
    return None


def _find_fault(
    schedules: Sequence[_Schedule], logged: Sequence[JsonObject], period: tuple[str, str], used: Mapping[str, str], known: str
) -> str | None:
    shown = [one.digest for one in schedules]
    end = min(period[1], known)
    ended = [one for one in logged if one["kind"] == "schedule" and period[0] < str(one["until"]) <= end]
    absent = next((one["digest"] for one in ended if one["digest"] not in shown), None)
    if absent is not None:
        return f"the schedule {absent} is missing"
    if len(set(shown)) < len(shown):
        return "a schedule is there twice"
    faults = (_find_schedule_fault(one, logged, period, used) for one in schedules)
    return next(filter(None, faults), None)


def _count(schedules: Sequence[_Schedule], logged: Sequence[JsonObject]) -> tuple[str, list[str]]:
    """Sentences about the groups, and warnings: what wasn't opened in time was missed."""
    groups = dict[str, list[_Schedule]]()
    for schedule in schedules:
        groups.setdefault(schedule.group, []).append(schedule)
    words, warnings = list[str](), list[str]()
    for own in groups.values():
        opened = [(one, _find_opened(one, logged)) for one in own]
        timely = [
            opening for one, at in opened for opening in one.openings if str(logged[at[opening.digest]]["at"]) <= one.until
        ]
        name, planted = own[-1].name, sum(len(one.entries) for one in own)
        words.append(f"{name} caught {sum(one.is_caught for one in timely)} of {counted(planted, 'planted request')}")
        late = planted - len(timely)
        if late:
            which, were, count = ("request", "was", "counts") if late == 1 else ("requests", "were", "count")
            warnings.append(f"{late:,} planted {which} of {name} {were} not opened in time, and {count} as missed")
    return "; ".join(words) or "no schedule ends in the period", warnings


def judge_planted(
    given: JsonObject,
    listed: Sequence[Listed] | Check,
    trust: Trust,
    period: tuple[str, str],
    used: Mapping[str, str],
    counted_at: str,
) -> tuple[Check, list[str]]:
    """``used``: hashes of requests that an approval in the pack is of, each with its organization. ``counted_at``: when the
    newest signed count of the pack was made; of a period that ends later than all that the pack knows, what had not ended yet
    isn't missing. Answers warnings too.
    """
    try:
        organization, schedules = _read_planted(given)
    except ValueError:
        return fail("planted_mismatch", problem="not schedules and openings"), []
    if isinstance(listed, Check):
        return fail("planted_mismatch", problem="the service's own statements can't be read"), []
    name = sha256(f"countersign planted v1\n{organization}".encode()).hex()
    signed = (one for one in listed if one.kind == PLANTED_REQUESTS and one.statement.find_maker(trust) is not None)
    stated = (parse_planted(one.statement.payload) for one in signed)
    said = [one for one in stated if one is not None]
    known = max([counted_at, *(str(one["at"]) for one in said)])
    logged = [one for one in said if one["organization"] == name]
    if used and organization not in used.values():
        problem: str | None = "they are of another organization than the approvals"
    else:
        problem = _find_fault(schedules, logged, period, used, known)
    if problem is not None:
        return fail("planted_mismatch", problem=problem), []
    words, warnings = _count(schedules, logged)
    return passed(words), warnings
