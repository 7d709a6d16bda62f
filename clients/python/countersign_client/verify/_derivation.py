"""The derivation of a suggested rule or standing approval, replayed from decisions: it follows from the approvals that it
names, would have let no refusal through, and its approvals were not chosen (docs/wire.md, Rules).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from .._iso_time import is_time, parse_time, to_iso
from .._json import Json, JsonObject, canonical_hash, is_list, is_object
from ._authorization_shape import utf16
from ._outcome import Check, counted, fail, passed, skip
from ._pack_entry import Entry, derived_terms_of
from ._pack_rules import read_rules_text, ruleset_hash

_LEAST_APPROVALS, _LEAST_DAYS = 5, 2
_MAX_VALUE = 200
_AMOUNT = re.compile(r"(?:0|[1-9][0-9]{0,13})(?:\.[0-9]{0,3}[1-9])?")
_WHY = {
    "not_in_rules": "it isn't in these rules as it was derived",
    "not_in_terms": "its terms are others than those that were derived",
    "wider_than_approved": "it is wider than what was approved",
    "too_few": "too few approvals, or on too few days",
    "refusal_covered": "it would have let through what was refused or held back",
    "not_approved": "a request that it names wasn't approved by people, or is outside of it",
}


def _ranges(text: str) -> str:
    """``ad 34f 115f-1160`` as a class of a pattern."""
    pairs = (one.split("-") for one in text.split())
    return "".join(f"\\U{int(pair[0], 16):08x}-\\U{int(pair[-1], 16):08x}" for pair in pairs)


_IGNORABLE = re.compile(
    f"[{_ranges('ad 34f 61c 115f-1160 17b4-17b5 180b-180f 200b-200f 202a-202e 2060-206f 3164 fe00-fe0f feff ffa0 fff0-fff8 1bca0-1bca3 1d173-1d17a e0000-e0fff')}]"
)
"""Default_Ignorable_Code_Point"""
_SPACES = re.compile(f"[{_ranges('9-d 20 85 a0 1680 2000-200a 2028-2029 202f 205f 3000')}]+")
_PICTOGRAPHS = re.compile(
    "["
    + _ranges(
        "a9 ae 203c 2049 2122 2139 2194-2199 21a9-21aa 231a-231b 2328 23cf 23e9-23f3 23f8-23fa 24c2 25aa-25ab 25b6 25c0 "
        "25fb-25fe 2600-2604 260e 2611 2614-2615 2618 261d 2620 2622-2623 2626 262a 262e-262f 2638-263a 2640 2642 "
        "2648-2653 265f-2660 2663 2665-2666 2668 267b 267e-267f 2692-2697 2699 269b-269c 26a0-26a1 26a7 26aa-26ab "
        "26b0-26b1 26bd-26be 26c4-26c5 26c8 26ce-26cf 26d1 26d3-26d4 26e9-26ea 26f0-26f5 26f7-26fa 26fd 2702 2705 "
        "2708-270d 270f 2712 2714 2716 271d 2721 2728 2733-2734 2744 2747 274c 274e 2753-2755 2757 2763-2764 2795-2797 "
        "27a1 27b0 27bf 2934-2935 2b05-2b07 2b1b-2b1c 2b50 2b55 3030 303d 3297 3299 1f004 1f02c-1f02f 1f094-1f09f "
        "1f0af-1f0b0 1f0c0 1f0cf-1f0d0 1f0f6-1f0ff 1f170-1f171 1f17e-1f17f 1f18e 1f191-1f19a 1f1ae-1f1e5 1f201-1f20f "
        "1f21a 1f22f 1f232-1f23a 1f23c-1f23f 1f249-1f25f 1f266-1f321 1f324-1f393 1f396-1f397 1f399-1f39b 1f39e-1f3f0 "
        "1f3f3-1f3f5 1f3f7-1f3fa 1f400-1f4fd 1f4ff-1f53d 1f549-1f54e 1f550-1f567 1f56f-1f570 1f573-1f57a 1f587 "
        "1f58a-1f58d 1f590 1f595-1f596 1f5a4-1f5a5 1f5a8 1f5b1-1f5b2 1f5bc 1f5c2-1f5c4 1f5d1-1f5d3 1f5dc-1f5de 1f5e1 "
        "1f5e3 1f5e8 1f5ef 1f5f3 1f5fa-1f64f 1f680-1f6c5 1f6cb-1f6d2 1f6d5-1f6e5 1f6e9 1f6eb-1f6f0 1f6f3-1f6ff "
        "1f7da-1f7ff 1f80c-1f80f 1f848-1f84f 1f85a-1f85f 1f888-1f88f 1f8ae-1f8af 1f8bc-1f8bf 1f8c2-1f8cf 1f8d9-1f8ff "
        "1f90c-1f93a 1f93c-1f945 1f947-1f9ff 1fa58-1fa5f 1fa6e-1faff 1fc00-1fffd"
    )
    + "]"
)
"""Extended_Pictographic: Cedar refuses rules with one."""


def text_as_read(text: str) -> str:
    """Without what nobody sees, one space for each run of white space, none around, in NFC."""
    return unicodedata.normalize("NFC", _SPACES.sub(" ", _IGNORABLE.sub("", text)).strip(" "))


@dataclass(frozen=True)
class Past:
    """A request that people decided, as it was asked."""

    hash: str
    agent: str
    action: str
    tool: str | None
    amount: tuple[str, str] | None
    """Value and currency."""
    context: dict[str, str]
    is_complete: bool
    created_at: str
    decided_at: str
    is_counted: bool
    """Approved, and rules neither asked people for it nor denied it."""
    is_test: bool

    @property
    def units(self) -> int:
        return 0 if self.amount is None else _units(self.amount[0])

    @property
    def currency(self) -> str | None:
        return None if self.amount is None else self.amount[1]

    @property
    def hour(self) -> int:
        return int(self.created_at[11:13])

    @property
    def kind(self) -> tuple[object, ...]:
        return (self.agent, self.tool, self.currency, frozenset(self.context))

    def value(self, name: str) -> str:
        """The action goes by the empty name, which no detail has."""
        return self.action if name == "" else self.context[name]

    @property
    def is_usable(self) -> bool:
        """Suggestions are made of it."""
        texts = [self.action, self.tool or "", *self.context, *self.context.values()]
        is_plain = all(
            _PICTOGRAPHS.search(text) is None and len(utf16(text)) // 2 <= _MAX_VALUE and text == text_as_read(text)
            for text in texts
        )
        return self.is_counted and not self.is_test and self.is_complete and is_plain


def _units(value: str) -> int:
    if _AMOUNT.fullmatch(value) is None:
        raise ValueError("not a canonical amount")
    whole, _, fraction = value.partition(".")
    return int(whole) * 10_000 + int(fraction.ljust(4, "0"))


def read_past(entry: Entry, given: JsonObject) -> Past | None:
    """None for any other entry, for a counter-offer, and without content."""
    request, rules, authorization = given.get("request"), given.get("rules"), given.get("human_authorization")
    if not entry.is_decision or entry.decision not in ("approved", "denied") or not is_object(request):
        return None
    seen = rules.get("context") if is_object(rules) else None
    context = seen.get("context") if is_object(seen) else None
    by = authorization.get("decided_by") if is_object(authorization) else given.get("decided_by")
    is_by_people = "amends" not in request and (not is_object(by) or by.get("kind") == "people")
    is_by_people = is_by_people or entry.decision == "denied"
    if not is_object(context) or not is_object(rules) or not is_by_people or request.get("grant") is not None:
        return None
    amount, details, created = request.get("amount"), request.get("details"), str(request["created_at"])
    is_held = rules.get("reason") != "nothing_permits"
    return Past(
        canonical_hash(request),
        str(request["agent_slug"]),
        str(request["action"]),
        cast("str | None", request.get("tool")),
        (str(amount["value"]), str(amount["currency"])) if is_object(amount) else None,
        cast("dict[str, str]", context),
        details.get("complete") is True if is_object(details) else "inputs_hash" not in request,
        created,
        entry.time or created,
        entry.decision == "approved" and not is_held and not entry.is_test,
        entry.is_test,
    )


@dataclass(frozen=True)
class _Bounds:
    """Requests that a suggested rule lets through."""

    given: JsonObject
    agent: str
    tool: str | None
    action: str | None
    equal: list[tuple[str, str]]
    open: list[str]
    currency: str | None
    most: str
    hours: tuple[int, int]

    @property
    def policy_id(self) -> str:
        return f"learned-{canonical_hash(self.given)[:12]}"

    @property
    def names(self) -> list[str]:
        return [*(name for name, _ in self.equal), *self.open]

    def covers(self, one: Past) -> bool:
        """Texts that read alike count as equal."""

        def same(a: str | None, b: str | None) -> bool:
            return text_as_read(a or "") == text_as_read(b or "")

        return (
            one.is_complete
            and one.agent == self.agent
            and same(one.tool, self.tool)
            and one.currency == self.currency
            and (self.currency is None or one.units <= _units(self.most))
            and (self.action is None or same(one.action, self.action))
            and len(self.names) == len(one.context)
            and all(name in one.context for name in self.names)
            and all(same(one.context[name], value) for name, value in self.equal)
            and self.hours[0] <= one.hour <= self.hours[1]
        )


def _whole(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _are_texts(value: Json) -> bool:
    return is_list(value) and all(isinstance(one, str) for one in value)


def _read_bounds(given: Json) -> _Bounds | None:
    if not is_object(given):
        return None
    agent, tool, equal, amount, hours = (given.get(name, False) for name in ("agent", "tool", "equal", "amount", "hours"))
    if not isinstance(agent, str) or not (tool is None or isinstance(tool, str)) or not _are_texts(given.get("open")):
        return None
    if not is_object(equal) or not is_object(hours) or not (amount is None or is_object(amount)):
        return None
    action, pairs = equal.get("action", False), equal.get("context")
    if not (action is None or isinstance(action, str)) or not is_list(pairs):
        return None
    if not all(_are_texts(pair) and len(cast("list[Json]", pair)) == 2 for pair in pairs):
        return None
    if not _whole(hours.get("from")) or not _whole(hours.get("to")):
        return None
    currency, most = (None, "0") if amount is None else (amount.get("currency"), str(amount.get("max")))
    if amount is not None and (not isinstance(currency, str) or _AMOUNT.fullmatch(most) is None):
        return None
    named = [(name, value) for name, value in cast("list[list[str]]", pairs)]
    span = (cast("int", hours["from"]), cast("int", hours["to"]))
    opened = cast("list[str]", given["open"])
    return _Bounds(given, agent, tool, action, named, opened, cast("str | None", currency), most, span)


def _quote(text: str, escapes_unassigned: bool) -> str:
    """In the escapes of Cedar, which are Rust's."""

    def write(one: str) -> str:
        category = unicodedata.category(one)
        is_escaped = category in ("Zl", "Zp") or (category[0] == "C" and (category != "Cn" or escapes_unassigned))
        return f"\\{one}" if one in '"\\' else f"\\u{{{ord(one):x}}}" if is_escaped else one

    return f'"{"".join(map(write, text))}"'


def _write_policy(bounds: _Bounds, escapes_unassigned: bool) -> str:
    def quote(text: str) -> str:
        return _quote(text, escapes_unassigned)

    def tag(name: str) -> str:
        return f"context.details.hasTag({quote(name)})"

    conditions = ["context.details_complete"]
    if bounds.action is not None:
        conditions.append(f"context.action == {quote(bounds.action)}")
    conditions += [f"{tag(name)} && context.details.getTag({quote(name)}) == {quote(value)}" for name, value in bounds.equal]
    conditions += map(tag, bounds.open)
    conditions.append(f"context.details_count == {len(bounds.names)}")
    if bounds.currency is None:
        conditions.append("!(context has amount)")
    else:
        most = bounds.most if "." in bounds.most else f"{bounds.most}.0"
        is_currency = f"context has amount && context.amount.currency == {quote(bounds.currency)}"
        conditions.append(f'{is_currency} && context.amount.value.lessThanOrEqual(decimal("{most}"))')
    conditions.append(f"context.hour_utc >= {bounds.hours[0]} && context.hour_utc <= {bounds.hours[1]}")
    head = f'permit (principal == Agent::{quote(bounds.agent)}, action == Action::"act", resource == Tool::{quote(bounds.tool or "")})'
    whole = " &&\n  ".join(conditions)
    return f"@id({quote(bounds.policy_id)})\n{head}\nwhen {{\n  {whole}\n}};\n"


def _is_in_rules(bounds: _Bounds, text: str) -> bool:
    # A character that this Python's Unicode doesn't know yet was perhaps known to whoever wrote the rule.
    return any(_write_policy(bounds, escapes) in text for escapes in (True, False))


def _find_open(requests: Sequence[Past]) -> set[str]:
    """Names with another value each time."""
    names = ["", *requests[0].context]
    return {name for name in names if len({one.value(name) for one in requests}) == len(requests)}


def _tighten(requests: Sequence[Past], opened: Sequence[str]) -> JsonObject:
    """The bounds of what all of these have in common; ``opened``: names whose values are not compared."""
    first, hours = requests[0], [one.hour for one in requests]
    highest = max(requests, key=lambda one: one.units).amount
    pairs = sorted(((name, first.context[name]) for name in first.context if name not in opened), key=lambda pair: utf16(pair[0]))
    return {
        "agent": first.agent,
        "tool": first.tool,
        "equal": {"action": None if "" in opened else first.action, "context": [[name, value] for name, value in pairs]},
        "open": cast("list[Json]", sorted((name for name in opened if name != ""), key=utf16)),
        "amount": None if highest is None else {"currency": highest[1], "max": highest[0]},
        "hours": {"from": min(hours), "to": max(hours)},
    }


_STANDING_DAYS = 30
_DAY_MS = 86_400_000


def _move_days(time: str, days: int) -> str:
    return to_iso(parse_time(time) + days * _DAY_MS)


def _write_units(units: int) -> str:
    whole, fraction = divmod(units, 10_000)
    return f"{whole}.{fraction:04d}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class Standing:
    """An approved standing approval that was suggested."""

    file: str
    request_id: str
    agent: str
    terms: JsonObject
    derivation: Json
    """None if the pack doesn't have it."""

    @property
    def hash(self) -> Json:
        return cast("JsonObject", self.terms["derived"])["derivation"]


def read_standing(entry: Entry, given: JsonObject) -> Standing | None:
    """None for any other entry."""
    terms = derived_terms_of(given) if entry.is_decision else None
    if terms is None:
        return None
    request = cast("JsonObject", cast("JsonObject", given["human_authorization"])["request"])
    return Standing(entry.file, str(request["request_id"]), str(request["agent_slug"]), terms, given.get("derivation"))


def _is_standing(derivation: Derivation, made: Standing, named: Sequence[Past] | None) -> bool:
    """The terms are those bounds, for what was approved in the last days. ``named``: None if not all of it is known."""
    bounds, terms = derivation.bounds, made.terms
    if not is_time(derivation.end):
        return False
    try:
        since, expires = (_move_days(derivation.end, days) for days in (-_STANDING_DAYS, _STANDING_DAYS))
    except OverflowError:
        return False
    if named is None:
        uses, units = cast("int", terms["max_calls"]), _units(str(terms.get("max_budget", "0")))
    else:
        recent = [one for one in named if one.created_at >= since]
        uses, units = len(recent), sum(one.units for one in recent)
    budget = _write_units(units)
    if bounds.tool is None or uses == 0 or (bounds.action or "").endswith("*") or _AMOUNT.fullmatch(budget) is None:
        return False
    details = cast("list[Json]", sorted(bounds.names, key=utf16))
    hours: JsonObject = {"from": bounds.hours[0], "to": bounds.hours[1]}
    built: JsonObject = {
        "tools": [bounds.tool],
        "max_calls": min(uses, 10_000),
        "expires_at": expires,
        "derived": {"derivation": made.hash, "details": details, "hours": hours},
    }
    if bounds.action is not None:
        built["actions"] = [bounds.action]
    if bounds.currency is not None:
        most = budget if units < _units(bounds.most) else bounds.most
        built.update(max_amount=most, max_budget=budget, currency=bounds.currency)
    if bounds.equal:
        built["context"] = dict(bounds.equal)
    return made.agent == bounds.agent and canonical_hash(built) == canonical_hash(terms)


_FIELDS = {"approvals", "bounds", "days", "from", "policy_id", "requests", "salt", "to", "version"}


@dataclass(frozen=True)
class Derivation:
    bounds: _Bounds
    policy_id: str
    start: str
    end: str
    approvals: int
    days: int
    requests: list[str]
    """Hashes of the approved requests that it rests on."""


def read_derivation(given: Json) -> Derivation | None:
    """None for anything that isn't one, as the service writes it."""
    if not is_object(given) or set(given) != _FIELDS or given["version"] != 1 or isinstance(given["version"], bool):
        return None
    bounds = _read_bounds(given["bounds"])
    texts = [given[name] for name in ("from", "policy_id", "salt", "to")]
    if bounds is None or not _are_texts(given["requests"]) or not _are_texts(texts):
        return None
    if not _whole(given["approvals"]) or not _whole(given["days"]):
        return None
    start, policy_id, _, end = cast("list[str]", texts)
    least = (cast("int", given["approvals"]), cast("int", given["days"]))
    return Derivation(bounds, policy_id, start, end, *least, cast("list[str]", given["requests"]))


def check_derivation(derivation: Derivation, made: str | Standing, past: Sequence[Past]) -> tuple[str | None, int]:
    """The first reason why the rule or standing approval doesn't follow, and how many of the requests that it names are not here."""
    bounds, requests = derivation.bounds, derivation.requests
    known = {one.hash: one for one in past}
    named = [known[digest] for digest in requests if digest in known]
    missing = len(requests) - len(named)
    is_own = derivation.policy_id == bounds.policy_id
    if isinstance(made, str):
        if not is_own or not _is_in_rules(bounds, made):
            return "not_in_rules", missing
    elif not is_own or not _is_standing(derivation, made, None if missing else named):
        return "not_in_terms", missing
    if len(set(requests)) != len(requests) or len(requests) < max(derivation.approvals, _LEAST_APPROVALS):
        return "too_few", missing
    if not all(one.is_counted and bounds.covers(one) for one in named):
        return "not_approved", missing
    window = [one for one in past if not one.is_test and one.created_at >= derivation.start and one.decided_at < derivation.end]
    if any(not one.is_counted and bounds.covers(one) for one in window):
        return "refusal_covered", missing
    if missing:
        return None, missing
    if len({one.created_at[:10] for one in named}) < max(derivation.days, _LEAST_DAYS):
        return "too_few", missing
    kinds = {one.kind for one in named}
    # All of the kind: among chosen ones a value that came again looks like another each time.
    alike = {one.hash: one for one in [*named, *filter(lambda one: one.is_usable, window)] if one.kind in kinds}
    opened = [*([""] if bounds.action is None else []), *bounds.open]
    is_seen = (
        len(kinds) == 1
        and set(opened) <= _find_open(list(alike.values()))
        and f"learned-{canonical_hash(_tighten(named, opened))[:12]}" == bounds.policy_id
    )
    return None if is_seen else "wider_than_approved", missing


def judge_derivations(
    files: Sequence[tuple[str, JsonObject]], logged: set[tuple[str, str]], standing: Sequence[Standing], past: Sequence[Past]
) -> Check:
    """``files``: of rules with a derivation. ``logged``: hashes of rules and of the derivation that the log has of them."""
    gap: Check | None = None
    rules = [(file, given["derivation"], read_rules_text(given)) for file, given in files]
    derived: list[tuple[str, Json, str | Standing]] = [*rules, *((one.file, one.derivation, one) for one in standing)]
    for file, given, made in derived:
        if given is None and not isinstance(made, str):
            gap = gap or skip("derivation_absent", file=file)
            continue
        derivation = read_derivation(given)
        digest = canonical_hash(given) if derivation is not None else None
        is_logged = (ruleset_hash(made), digest) in logged if isinstance(made, str) else made.hash == digest
        if derivation is None or not is_logged:
            return fail("derivation_not_logged", file=file)
        what = f"rule {derivation.policy_id}" if isinstance(made, str) else f"standing approval {made.request_id}"
        fault, missing = check_derivation(derivation, made, past)
        if fault is not None:
            return fail("derivation_refused", file=file, what=what, why=_WHY[fault])
        if missing and gap is None:
            gap = skip("derivation_content_absent", what=what, requests=counted(missing, "request"))
    return gap or passed(f"{counted(len(derived), 'suggestion')}, each follows from the approvals that it names")
