"""An agent's whole record: every number from 1 to the head, every link computed again, the newest public attestation,
whose signature covers all links before it, and the signed snapshot that counts it.

The same checks as ``verify.mjs record``; ``sum`` needs the rows of all agents, which a pack has.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._json import JsonObject, canonical_bytes, is_object
from ..errors import UnreadableError
from ._bytes import base64_decode
from ._dsse import parse_leaf, require_string
from ._outcome import Check, fail, not_run, passed, skip
from ._reading import read_object
from ._receipt import read_receipt
from ._record_pages import Entry, Page, join, read_page
from ._snapshot import check_snapshot, not_counted, number_of, read_snapshot
from ._statement import DECISION, empty_link, is_place, next_link, statement_of
from ._sum import SumSource
from ._trust import Trust


@dataclass(frozen=True)
class Held:
    """Facts about an entry that its signed payload proves."""

    is_sound: bool
    slug: str
    place: JsonObject | None
    payload_hash: bytes
    decided: Held | None = None
    """The decision that it is backed by."""
    cancelled: JsonObject | None = None
    """The cancellation of the request that an approver changed into this decision's: subject and predicate but for its place."""


def is_record(given: JsonObject) -> bool:
    return all(name in given for name in ("agent_id", "entries", "head"))


class _Walk:
    """Numbers without a gap, places in the log that rise, and links that were computed here and nowhere else."""

    def __init__(self, agent_id: str) -> None:
        self.agent_id = agent_id
        self.links = [empty_link(agent_id)]
        self._last: Entry | None = None
        self._closed = set[str]()

    def add(self, entry: Entry, signed: Held | None) -> Check | None:
        number = len(self.links)
        if entry.sequence != number:
            return fail("record_number_missing", number=number)
        if not self._is_later(entry):
            return fail("record_out_of_order", number=number)
        if signed is not None and signed.place is not None:
            place = signed.place
            if (place["agent_id"], place["sequence"]) != (self.agent_id, number) or signed.payload_hash != entry.payload_hash:
                return fail("record_entry_mismatch", number=number)
            if place["previous"] != self.links[-1].hex():
                return fail("record_broken", number=number - 1)
        if self._last is not None and self._last.log_origin != entry.log_origin:
            self._closed.add(self._last.log_origin)
        self.links.append(next_link(self.links[-1], number, entry.payload_hash))
        self._last = entry
        return None

    def _is_later(self, entry: Entry) -> bool:
        last = self._last
        if last is None:
            return True
        if last.log_origin == entry.log_origin:
            return last.log_index < entry.log_index
        return entry.log_origin not in self._closed


def _check_newest(first: Page, entries: list[Entry], walk: _Walk, held: Mapping[int, Held], receipts: Sequence[Held]) -> Check:
    """A signature over the newest public attestation is one over every link before it."""
    newest = next((entry for entry in reversed(entries) if entry.mark == "public"), None)
    if newest is None:
        return skip("record_nothing_public")
    number, found = newest.sequence, held.get(newest.sequence)
    if found is None:
        return Check("", "not_applicable", "record_no_receipts", f"the receipt of number {number} was not given", True)
    if not found.is_sound or found.place is None or found.payload_hash != newest.payload_hash:
        return fail("record_entry_mismatch", number=number)
    if found.slug.lower() != first.slug.lower():
        return fail("record_of_another", slug=found.slug)
    if found.decided is not None and found.decided.place is not None:
        decided = number_of(found.decided.place, "sequence")
        if entries[decided - 1].payload_hash != found.decided.payload_hash:
            return fail("record_entry_mismatch", number=decided)
    wrong = None if found.decided is None else _find_reused([*receipts, found]) or _find_amended_open(walk, entries, [found])
    if wrong is not None:
        return wrong
    if found.place["previous"] != walk.links[number - 1].hex():
        return fail("record_broken", number=number - 1)
    return passed(f"number {number} is signed, and with it every number before it")


def _find_reused(receipts: Iterable[Held]) -> Check | None:
    """The fault of two attestations that one decision is behind."""
    used = dict[int, int]()
    for one in receipts:
        if one.place is None or one.decided is None or one.decided.place is None:
            continue
        number = number_of(one.place, "sequence")
        earlier = used.setdefault(number_of(one.decided.place, "sequence"), number)
        if earlier != number:
            return fail("authorization_mismatch", field=f"number {number} and number {earlier} share it")
    return None


def _find_decision(walk: _Walk, entries: Sequence[Entry], decision: JsonObject) -> int | None:
    """The number of an entry that is this very decision."""
    for entry in entries:
        if entry.mark != "decision":
            continue
        place: JsonObject = {
            "agent_id": walk.agent_id,
            "sequence": entry.sequence,
            "previous": walk.links[entry.sequence - 1].hex(),
        }
        predicate: JsonObject = {**decision, "record": place}
        subject = str(predicate.pop("request_hash"))
        statement = statement_of(DECISION, "authorization-request", subject, predicate)
        if hashlib.sha256(canonical_bytes(statement)).digest() == entry.payload_hash:
            return entry.sequence
    return None


def _find_amended_open(walk: _Walk, entries: Sequence[Entry], receipts: Sequence[Held]) -> Check | None:
    """Never are both open: the request that an approver changed, and what was made of it. The cancellation of one that was
    asked about can't be found, because its statement names the questions' hash."""
    for one in receipts:
        decided = one.decided
        if decided is None or decided.place is None or decided.cancelled is None:
            continue
        number = number_of(decided.place, "sequence")
        later = _find_decision(walk, entries, decided.cancelled)
        if later is not None and later > number:
            return fail("record_amended_open", number=number, later=later)
    return None


def _check_receipts(walk: _Walk, entries: Sequence[Entry], receipts: Sequence[Held], held: Mapping[int, Held]) -> Check:
    if not receipts:
        return skip("record_no_receipts")
    for one in receipts:
        if not one.is_sound or one.place is None:
            return fail("record_receipt_invalid")
        for signed in (one,) if one.decided is None else (one, one.decided):
            place = signed.place or {}
            number = number_of(place, "sequence")
            if number >= len(walk.links) or place["agent_id"] != walk.agent_id:
                return fail("record_entry_absent", number=number)
            if held[number].payload_hash != signed.payload_hash:
                return fail("record_entry_mismatch", number=number)
    wrong = _find_reused(receipts) or _find_amended_open(walk, entries, receipts)
    if wrong is not None:
        return wrong
    return passed("the receipt is in the record" if len(receipts) == 1 else f"all {len(receipts)} receipts are in the record")


def read_held(given: str | Mapping[str, Any], is_sound: bool, statement: JsonObject | None) -> Held:
    """``is_sound``: whether nothing in it fails. ``statement``: None if something does, or its content isn't there."""
    receipt = read_receipt(read_object(given))
    predicate = None if statement is None else statement.get("predicate")
    request = predicate.get("request") if is_object(predicate) else None
    place = predicate.get("record") if is_object(predicate) else None
    slug = str(request.get("agent_slug")) if is_object(request) else ""
    if not is_object(place) or not is_place(place):
        return Held(is_sound, slug, None, receipt.payload_hash)
    return Held(is_sound, slug, place, receipt.payload_hash, read_decided(receipt.human_authorization))


def read_decided(given: object) -> Held | None:
    """Reads a verified receipt's decision, whose log entry is known to be of this decision."""
    log = given.get("log") if is_object(given) else None
    place = log.get("record") if is_object(log) else None
    if not is_object(log) or not is_object(place) or not is_place(place):
        return None
    entry = parse_leaf(base64_decode(require_string(log.get("entry"))))
    return Held(True, "", place, entry.payload_hash, cancelled=_read_cancelled(given))


def _read_cancelled(given: object) -> JsonObject | None:
    """Follows from the approval but for the questions, which only the old request's owner has: both were one transaction."""
    request = given.get("request") if is_object(given) else None
    amends = request.get("amends") if is_object(request) else None
    if not is_object(given) or not is_object(request) or not is_object(amends):
        return None
    return {
        "decision": "cancelled",
        "request_hash": amends["request_hash"],
        "decided_at": request["created_at"],
        "key_id": given["key_id"],
        "authorization_hash": None,
    }


def check_record(
    pages: Sequence[str | Mapping[str, Any]],
    trust: Trust,
    receipts: Sequence[Held],
    now: float | None,
    known: Mapping[int, Held] | None = None,
    source: SumSource | None = None,
) -> list[Check]:
    """``pages``: all answers of GET /v1/agent/{slug}/record, in order. ``now``: Unix seconds; None for a kept record.

    ``known``: further entries that somebody can prove. ``source``: for the sum over the snapshot, which needs more files.
    """
    if not pages:
        raise UnreadableError("no page of a record")
    parsed = [read_page(page) for page in pages]
    first, walk = parsed[0], _Walk(parsed[0].agent_id)
    backed = [signed for one in receipts for signed in (one, one.decided) if signed is not None]
    held = {**(known or {}), **{number_of(one.place, "sequence"): one for one in backed if one.place is not None}}
    read_snapshot(first)
    entries, fault = join(parsed)
    for entry in entries:
        if len(walk.links) - 1 == first.head[0]:
            break
        added = walk.add(entry, held.get(entry.sequence))
        if added is not None:
            fault = added
            break
    reached = len(walk.links) - 1
    entries = entries[:reached]
    is_head = fault is None and (reached, walk.links[-1]) == first.head
    words = f"numbers 1 to {reached}, without a gap and in the order of the log"
    checks = {"entries": fault or passed(words)}
    if fault is not None:
        checks["head"] = not_run()
    else:
        ended = passed("the entries lead to the head")
        checks["head"] = ended if is_head else fail("record_head_mismatch", number=first.head[0], found=reached)
    if is_head:
        checks["newest_signed"] = _check_newest(first, entries, walk, held, receipts)
        checks |= check_snapshot(first, entries, walk.links, trust, now, source)
        checks["receipts"] = _check_receipts(walk, entries, receipts, held)
    else:
        checks |= {"newest_signed": not_run(), **not_counted(not_run()), "receipts": not_run()}
    return [check.named(name) for name, check in checks.items()]
