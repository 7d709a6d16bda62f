"""``attention.json`` of an evidence pack: how fast a group decided, by week, computed again from the pack's decisions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, fmod
from typing import cast

from .._iso_time import is_time, parse_time, to_iso
from .._json import Json, JsonObject, equal, is_list, is_object
from ._outcome import Check, counted, fail, passed
from ._pack_entry import Entry
from ._reading import is_count

_HASTY_MS = 3_000
_DAY_MS = 86_400_000
_STATED = ("amended", "expired", "read_to_end", "not_read_to_end")
"""The service's word: nothing signed says it."""


@dataclass(frozen=True)
class GroupDecision:
    """A request that people of these groups approved or denied."""

    groups: tuple[str, ...]
    is_approval: bool
    at: str
    waited_ms: int

    @property
    def week(self) -> str:
        """Monday of the week; 1970 began on a Thursday."""
        time = parse_time(self.at)
        return to_iso(time - fmod(time - 4 * _DAY_MS, 7 * _DAY_MS))[:10]


def read_group_decision(entry: Entry, given: JsonObject) -> GroupDecision | None:
    """None for any other entry: what nobody was asked about is decided in the moment of the request."""
    request = given.get("request")
    if entry.decision not in ("approved", "denied") or entry.time is None or not is_object(request):
        return None
    required = request.get("required_approvers")
    asked = request.get("created_at")
    waited = parse_time(entry.time) - parse_time(str(asked)) if is_time(asked) else float("nan")
    if "amends" in request or not waited > 0 or not is_list(required) or not required:
        return None
    named = (one.get("group") for one in required if is_object(one))
    groups = tuple(group for group in named if isinstance(group, str))
    return GroupDecision(groups, entry.decision == "approved", entry.time, round(waited))


def _measure(decisions: Sequence[GroupDecision], group: JsonObject, period: tuple[str, str]) -> list[JsonObject]:
    shown = cast("list[JsonObject]", group["weeks"])
    said = {str(one["week"]): one for one in shown if any(cast("int", one[name]) > 0 for name in _STATED)}
    start, end = max(str(group["since"]), period[0]), period[1]
    own = [one for one in decisions if group["group"] in one.groups and start <= one.at < end]

    def measure(week: str) -> JsonObject:
        decided = [one for one in own if one.week == week]
        waited = sorted(one.waited_ms for one in decided)

        def rank(share: float) -> int | None:
            return waited[ceil(share * len(waited)) - 1] if waited else None

        approved = sum(one.is_approval for one in decided)
        return {
            "week": week,
            "approved": approved,
            "denied": len(decided) - approved,
            "within_3_s": sum(one <= _HASTY_MS for one in waited),
            "median_ms": rank(0.5),
            "p90_ms": rank(0.9),
            **{name: said.get(week, {}).get(name, 0) for name in _STATED},
        }

    return [measure(week) for week in sorted({*(one.week for one in own), *said})]


def _is_group(value: Json) -> bool:
    if not is_object(value) or not all(isinstance(value.get(name), str) for name in ("group", "name", "since")):
        return False
    weeks = value.get("weeks")
    return is_list(weeks) and all(
        is_object(week) and isinstance(week.get("week"), str) and all(is_count(week.get(name)) for name in _STATED)
        for week in weeks
    )


def judge_attention(file: str, given: JsonObject, decisions: Sequence[GroupDecision], period: tuple[str, str]) -> Check:
    groups = given.get("groups")
    if not equal(given.get("version"), 1) or not is_list(groups) or not all(map(_is_group, groups)):
        return fail("attention_mismatch", file=file, group="a group")
    words = list[str]()
    for group in cast("list[JsonObject]", groups):
        made = _measure(decisions, group, period)
        if json.dumps(made) != json.dumps(group["weeks"]):
            return fail("attention_mismatch", file=file, group=group["name"])

        def add(*names: str, weeks: Sequence[JsonObject] = made) -> int:
            return sum(cast("int", week[name]) for week in weeks for name in names)

        read, known = add("read_to_end"), add("read_to_end", "not_read_to_end")
        reading = f", {read} of {known} read to the end as the service says" if known else ""
        total = counted(add("approved", "denied"), "decision")
        words.append(f"{group['name']}: {total}, {add('within_3_s')} within 3 s{reading}")
    return passed("; ".join(words))
