"""Business facts of a receipt or an approval, in the words of ``verify.mjs`` (lib/protocol/record/facts.ts)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from ._iso_time import is_time, parse_time
from ._json import JsonObject, is_object

_LIST_ONE = (
    "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
    "",
    "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY "
    "COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS "
    "INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR "
    "MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP "
    "STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG",
    "BHD IQD JOD KWD LYD OMR TND",
    "CLF UYW",
)
_DECIMALS = {code: places for places, codes in enumerate(_LIST_ONE) for code in codes.split()}
_LEVELS = {"orb": "Orb", "proof_of_human": "Orb"}
_LATE_MS = 60_000


class Fact(TypedDict):
    id: str
    label: str
    text: str


@dataclass(frozen=True)
class Opened:
    """Facts that the owner opened beside an approval, once checked."""

    payee: str | None
    title: str | None
    requester: str | None
    groups: Mapping[str, str]
    approvers: Mapping[str, str]


def _value(value: str, currency: str) -> str:
    whole, _, fraction = value.partition(".")
    decimals = fraction.ljust(_DECIMALS.get(currency, 0), "0")
    return f"{int(whole):,}" + (f".{decimals}" if decimals else "")


def format_amount(value: str, currency: str) -> str:
    """``12,000.50 EUR``."""
    return f"{_value(value, currency)} {currency}"


def _units(value: str) -> int:
    whole, _, fraction = value.partition(".")
    return int(whole) * 10_000 + int(fraction.ljust(4, "0"))


def _format_left(spent: str, budget: str, currency: str) -> str:
    left = max(0, _units(budget) - _units(spent))
    fraction = f"{left % 10_000:04d}".rstrip("0")
    value = f"{left // 10_000}" + (f".{fraction}" if fraction else "")
    return f"{_value(value, currency)} of {format_amount(budget, currency)} left"


def describe_unasked(by: Mapping[str, Any]) -> str | None:
    """A rule's or a standing approval's decision; None if people decided. Neither is ever called a human's."""
    if by["kind"] == "grant":
        amounts = (by["spent"], by["budget"], by["currency"])
        money = "" if None in amounts else f", {_format_left(*amounts)} when it was used"
        return f"Standing approval: use {by['use']:,} of {by['of']:,}{money}"
    if by["kind"] == "rule":
        names = by["policy_ids"]
        which = "A rule" if not names else f"{'Rule' if len(names) == 1 else 'Rules'} {', '.join(names)}"
        return f"{which} allowed it. Nobody was asked."
    return None


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _time(iso: str) -> str:
    return re.sub(r"(?:\.[0-9]+)?Z$", " UTC", iso.replace("T", " ", 1))


def _describe_people(
    ways: Sequence[str], groups: Sequence[Any], level: str, is_test: bool, opened: Opened | None = None
) -> str:
    if groups:
        known: Mapping[str, str] = {} if opened is None else opened.groups
        each = [
            f"{_count(one['count'], 'member')} of {known.get(one['group'], 'another' if at else 'a group')}"
            for at, one in enumerate(groups)
        ]
        who = each[0] if len(each) == 1 else f"{', '.join(each[:-1])} and {each[-1]}"
    elif any(way != "World ID" for way in ways):
        who = _count(len(ways), "enrolled approver")
    elif is_test:
        who = _count(len(ways), "test wallet")
    else:
        who = "1 person" if len(ways) == 1 else f"{len(ways)} different people"
    grade = "" if level == "none" else f" ({_LEVELS.get(level, level)})"
    by = " and ".join(dict.fromkeys(ways))
    return f"{who}{', by ' + by if by else ''}{grade}"


def _way(approval: JsonObject) -> str:
    if approval.get("type") != "passkey":
        return "World ID"
    return "World ID and passkey" if "nullifier_hash" in approval else "passkey"


def _describe_terms(terms: Mapping[str, Any]) -> str:
    currency = terms.get("currency", "")
    parts = [f"at most {_count(terms['max_calls'], 'use')}"]
    if "max_amount" in terms:
        parts.append(f"{format_amount(terms['max_amount'], currency)} each")
    if "max_budget" in terms:
        parts.append(f"{format_amount(terms['max_budget'], currency)} in all")
    return ", ".join([*parts, f"until {_time(terms['expires_at'])}"])


def describe_amendment(given: Mapping[str, Any], who: str | None = None) -> str:
    """``amount from 120.00 EUR to 80.00 EUR, payee, by Ada``. ``who``: the approver's name, if the reader knows it."""
    now, before = given["request"], given["original_request"]
    amends = now["amends"]

    def change(name: str) -> str:
        if name != "amount" or "amount" not in now or "amount" not in before:
            return name.removeprefix("context.")
        amounts = (format_amount(one["amount"]["value"], one["amount"]["currency"]) for one in (before, now))
        return f"amount from {' to '.join(amounts)}"

    by = who or ("an approver" if "by" in amends else "somebody with the link")
    return ", ".join([*map(change, amends["fields"]), f"by {by}"])


def _opened_rows(opened: Opened | None) -> list[tuple[str, str, str]]:
    if opened is None:
        return []
    return [("payee", "To", opened.payee or ""), ("title", "Call", opened.title or ""), ("requester", "Requested by", opened.requester or "")]


def _approval_rows(given: JsonObject, opened: Opened | None = None) -> list[tuple[str, str, str]]:
    """``given``: a ``human_authorization`` whose shape was checked."""
    signed: Any = given
    request, by = signed["request"], signed["decided_by"]
    approvals: list[Any] = [one for one in signed["approvals"] if is_object(one)]
    people = [one for one in approvals if one["type"] == "passkey"] or approvals
    is_test = signed["environment"] != "production"
    unasked = describe_unasked(by)
    rows: list[tuple[str, str, str]] = []
    if "amount" in request:
        rows.append(("amount", "Amount", format_amount(request["amount"]["value"], request["amount"]["currency"])))
    if "tool" in request:
        rows.append(("tool", "Tool", request["tool"]))
    if "original_request" in signed:
        by = request["amends"].get("by")
        rows.append(("changed", "Changed", describe_amendment(signed, None if opened is None else opened.approvers.get(by))))
    if unasked is not None:
        rows.append(("decided", "Decided by", unasked))
    else:
        ways = [_way(one) for one in people]
        levels = [one["level"] for one in approvals if one["type"] == "world_id"]
        level = "none" if not levels else "orb" if all(level in _LEVELS for level in levels) else "device"
        said = _describe_people(ways, request["required_approvers"], level, is_test, opened)
        rows.append(("decided", "Approved by", said))
        known: Mapping[str, str] = {} if opened is None else opened.approvers
        each = [
            f"{known.get(one.get('approver_id'), f'{_nameless(way, is_test)} {number}')}{_place(one)}, by {way}{_list(one)}, {_time(one['verified_at'])}"
            for number, (one, way) in enumerate(zip(people, ways, strict=True), 1)
        ]
        rows.append(("people", "People", "; ".join(each)))
    limits = [] if request["grant"] is None else [f"Standing approval: {_describe_terms(request['grant'])}"]
    limits += [] if signed["usable_until"] is None else [f"Usable until {_time(signed['usable_until'])}"]
    if limits:
        rows.append(("limits", "Limits", "; ".join(limits)))
    return [*rows, ("decided_at", "Decided", _time(signed["approved_at"]))]


def _nameless(way: str, is_test: bool) -> str:
    return "Test wallet" if is_test and way == "World ID" else "Person"


def _place(approval: Any) -> str:
    return " as a deputy" if "deputy_for" in approval else ""


def _list(approval: Any) -> str:
    return f" in a list of {approval['list']['size']}" if "list" in approval else ""


def _backed_rows(approval: Any) -> list[tuple[str, str, str]]:
    """Deciders by the receipt's own words, where the object itself is not shown."""
    method = approval["method"]
    if method == "rule":
        return [("decided", "Decided by", "A rule allowed it. Nobody was asked.")]
    if method == "standing_approval":
        return [("decided", "Decided by", "Standing approval. Nobody was asked.")]
    is_enrolled = method != "proof_of_personhood"
    way = "passkey" if method == "enrolled_approver" else "World ID and passkey" if is_enrolled else "World ID"
    ways = [way for _ in approval["approver_ids" if is_enrolled else "nullifier_hashes"]]
    is_test = approval["environment"] != "production"
    return [("decided", "Approved by", _describe_people(ways, [], approval["level"], is_test))]


def _not_proven(rows: Sequence[tuple[str, str, str]], is_receipt: bool, is_asserted: bool, is_test: bool) -> str:
    is_by_people = any(label == "Approved by" for _, label, _ in rows)
    has_amount = any(name == "amount" for name, _, _ in rows)
    said = ["that the action happened as reported"] if is_receipt else []
    has_payee = any(name == "payee" and text for name, _, text in rows)
    if any(name == "source" and text for name, _, text in rows):
        said.append("that the agent itself reported it, and when it happened")
    if is_receipt and has_amount and not has_payee:
        said.append("to whom (only a hash of the details is signed)")
    if is_asserted:
        said.append("that a human approved it")
    if is_test:
        by_people, unasked = "that a real person approved it (TEST)", "what a live instance would decide (TEST)"
        said.append(by_people if is_by_people else unasked)
    return "; ".join(said)


_ORDER = (
    *("amount", "payee", "title", "what", "tool", "agent", "source", "parent", "requester", "changed"),
    *("decided", "people", "limits", "decided_at", "recorded_at", "ended_at", "not_proven"),
)


def _finish(rows: Sequence[tuple[str, str, str]]) -> list[Fact]:
    ordered = sorted(rows, key=lambda row: _ORDER.index(row[0]))
    return [{"id": name, "label": label, "text": text} for name, label, text in ordered if text]


def facts_of_approval(given: JsonObject, opened: Opened | None = None) -> list[Fact]:
    request: Any = given["request"]
    rows = [*_approval_rows(given, opened), *_opened_rows(opened), ("what", "Action", request["action"]), ("agent", "Agent", request["agent_slug"])]
    is_test = given["environment"] != "production"
    return _finish([*rows, ("not_proven", "Not proven", _not_proven(rows, False, False, is_test))])


def _recorded_rows(signed: Any) -> list[tuple[str, str, str]]:
    """A hook or gate numbers what it records, and the service marks what it reads in a trace."""
    metadata = signed["request"].get("metadata")
    if not is_object(metadata) or not (is_object(signed["request"].get("client")) or "trace" in signed):
        return []
    title, at = metadata.get("title"), metadata.get("at")
    # Beside an approval there is no such title: people approved the action, and metadata could say another.
    is_backed = signed["human_approval"]["method"] not in ("none", "hash")
    rows = [("title", "Call", title)] if isinstance(title, str) and not is_backed else []
    if is_time(at) and parse_time(str(signed["timestamp"])) - parse_time(str(at)) > _LATE_MS:
        rows.append(("ended_at", "Recorded late", f"It ended at {_time(str(at))} by its machine's clock"))
    return rows


def facts_of_receipt(
    predicate: JsonObject, authorization: JsonObject | None, opened: Opened | None = None
) -> list[Fact]:
    """``authorization``: the verified object that backs the attestation, if the file has it."""
    signed: Any = predicate
    approval = signed["human_approval"]
    method = approval["method"]
    if method == "none":
        decided = [("decided", "Approval", "No human approval")]
    elif method == "hash":
        decided = [("decided", "Approval", "The agent says that a human approved. Not proven.")]
    else:
        decided = _backed_rows(approval) if authorization is None else _approval_rows(authorization, opened)
    parent = signed["request"].get("parent")
    rows = [
        *decided,
        *(row for row in _recorded_rows(signed) if row[0] != "title" or opened is None or opened.title is None),
        *_opened_rows(opened),
        ("what", "Action", signed["request"]["action"]),
        ("agent", "Agent", signed["request"]["agent_slug"]),
        ("source", "Source", "Reported by a trace" if "trace" in signed else ""),
        ("parent", "Follows from", f"Attestation {parent['id']} in the log {parent['origin']}" if parent else ""),
        ("recorded_at", "Recorded", _time(signed["timestamp"])),
    ]
    is_test = approval.get("environment", "production") != "production"
    return _finish([*rows, ("not_proven", "Not proven", _not_proven(rows, True, method == "hash", is_test))])
