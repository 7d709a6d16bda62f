"""Claims of an evidence pack's attestations about the entries before them: that the agent's own number follows its
instance's last one, and since when the agent was frozen. Also: no approval while it was frozen, no signature of the agent's
that counted twice, and no counter-offer approved before the request that it changes was cancelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from .._iso_time import parse_time
from .._json import Json, JsonObject, is_object
from ._outcome import Check, counted, fail, passed
from ._pack_entry import CHANGE_FILE, Entry, authorization_of, changed_into_of
from ._statement import Action, parse_action, parse_change, parse_decision

_SLACK_MS = 2_000
"""Time by which the clocks of a service's processes may differ."""


@dataclass(frozen=True)
class Attested:
    """Claims of an attestation that depend on the entries before it."""

    at: str
    is_registered: bool
    frozen_at: str | None
    signature: str | None
    """The agent's, if it verified."""
    client: tuple[str, int] | None
    """Instance and number of the agent's own."""
    is_gap: Json


@dataclass(frozen=True)
class Said:
    number: int
    is_approval: bool = False
    attested: Attested | None = None
    is_unread: bool = False
    """An attestation that may have any number of the agent's own."""
    has_changed: bool = False
    frozen: str | None = None
    """Since when the agent is frozen, or None if it goes on: if this changed it."""
    cancelled: str | None = None
    amends: str | None = None
    """Hash of the request that was cancelled here, or that the one approved here changes."""
    changed_into: int | None = None
    """Number of the decision about what an approver made of the request that was cancelled here."""
    changes: str | None = None
    """Hash of the request that the one decided here changes, whatever was decided."""
    is_erased: bool = False
    """A decision without content, which may be a cancellation."""


def read_said(entry: Entry, given: JsonObject) -> Said:
    payload = given.get("payload")
    data = payload.encode(errors="replace") if isinstance(payload, str) else None
    number, is_approval = entry.sequence, entry.decision == "approved"
    if given.get("type") == CHANGE_FILE:
        change = None if data is None else parse_change(data)
        if change is None or change["change"] == "authorization_revoked":
            return Said(number)
        return Said(number, has_changed=True, frozen=str(change["changed_at"]) if change["change"] == "frozen" else None)
    if entry.is_decision:
        decision = parse_decision(data) if data is not None and entry.decision == "cancelled" else None
        amends = cast("JsonObject", (authorization_of(given) or {"request": {}})["request"]).get("amends")
        request = given.get("request")
        changes = request.get("amends") if is_object(request) else None
        return Said(
            number,
            is_approval,
            changed_into=None if decision is None else changed_into_of(given),
            changes=str(changes.get("request_hash")) if is_object(changes) else None,
            cancelled=None if decision is None else str(decision["request_hash"]),
            amends=str(amends["request_hash"]) if is_object(amends) else None,
            is_erased=data is None,
        )
    action = None if data is None else parse_action(data)
    return Said(number, attested=None if action is None else _read_attested(action), is_unread=action is None)


def _read_attested(action: Action) -> Attested:
    frozen, signature = action.predicate.get("agent_frozen_at"), action.predicate.get("agent_signature")
    client, verdicts = action.request.get("client"), action.verdicts
    return Attested(
        action.text("timestamp"),
        any(value is not None for value in action.registered.values()),
        frozen if isinstance(frozen, str) else None,
        signature if isinstance(signature, str) and verdicts["agent_authenticated"] is True else None,
        (str(client["instance"]), cast("int", client["sequence"])) if is_object(client) else None,
        verdicts.get("client_gap"),
    )


@dataclass
class _Known:
    """State at an entry. Before the first of a gap it is unknown."""

    number: int = 0
    knows_freeze: bool = True
    frozen: str | None = None
    last: dict[str, int] = field(default_factory=dict[str, int])
    """Instance → its last number."""
    knows_others: bool = True
    """True if an instance that isn't in ``last`` has none before."""
    signed: dict[str, int] = field(default_factory=dict[str, int])
    is_whole: bool = True
    """True while every decision from the first on has been read."""
    cancelled: set[str] = field(default_factory=set[str])
    amended: set[str] = field(default_factory=set[str])
    replacing: dict[int, tuple[int, str]] = field(default_factory=dict[int, "tuple[int, str]"])
    """Number of a decision → which cancellation names it, of which request."""

    def forget_numbers(self) -> None:
        self.knows_others = False
        self.last.clear()


def _is_frozen_as_said(attested: Attested, frozen: str | None) -> bool:
    """1.0.0 didn't say so if a slug was claimed and frozen while an attestation of it waited."""
    if attested.frozen_at is not None or frozen is None:
        return attested.frozen_at == frozen
    return not attested.is_registered and parse_time(attested.at) <= parse_time(frozen) + _SLACK_MS


def _is_amended_open(known: _Known, one: Said) -> bool:
    """A request ends, cancelled, before the one that an approver made of it can be approved."""
    known.is_whole = known.is_whole and not one.is_erased
    if one.cancelled is not None:
        if one.cancelled in known.amended:
            return True
        known.cancelled.add(one.cancelled)
    if one.amends is None:
        return False
    known.amended.add(one.amends)
    return known.is_whole and one.amends not in known.cancelled


def _follow(known: _Known, one: Said) -> Check | None:
    """Goes on to the next entry; the fault is what it says otherwise than the entries before it."""
    number, attested = one.number, one.attested
    if number != known.number + 1:
        known.is_whole = known.knows_freeze = False
        known.forget_numbers()
    known.number = number
    if one.has_changed:
        known.knows_freeze, known.frozen = True, one.frozen
    if one.is_unread:
        known.forget_numbers()
    if one.is_approval and known.knows_freeze and known.frozen is not None:
        return fail("approved_while_frozen", number=number)
    is_open, named = _is_amended_open(known, one), known.replacing.pop(number, None)
    if one.cancelled is not None and one.changed_into is not None and not is_open:
        known.replacing[one.changed_into] = (number, one.cancelled)
    # Erasure may have happened while the pack was made.
    if named is not None and not one.is_erased and named[1] != one.changes:
        return fail("changed_into_other", number=named[0], other=number)
    if is_open:
        return fail("amended_open", number=number)
    if attested is None:
        return None
    if known.knows_freeze and not _is_frozen_as_said(attested, known.frozen):
        return fail("frozen_mismatch", number=number)
    if attested.signature is not None:
        earlier = known.signed.setdefault(attested.signature, number)
        if earlier != number:
            return fail("signature_replayed", number=number, earlier=earlier)
    if attested.client is None:
        return None
    instance, own = attested.client
    last = known.last.get(instance, 0 if known.knows_others else None)
    known.last[instance] = own
    if last is not None and (own != last + 1) is not attested.is_gap:
        return fail("client_gap_mismatch", number=number)
    return None


def judge_said(found: Sequence[Said]) -> Check:
    known = _Known()
    by_number = {one.number: one for one in found}
    for number in sorted(by_number):
        fault = _follow(known, by_number[number])
        if fault is not None:
            return fault
    for other, (number, _) in known.replacing.items():
        return fail("changed_into_other", number=number, other=other)
    count = sum(one.attested is not None for one in by_number.values())
    what = "what is said about a freeze and about the agent's own numbers fits the entries before, as far as these are here"
    return passed(f"in {counted(count, 'attestation')}, {what}")
