"""An agent's whole record: every number from 1 to the head, every link computed again, the newest public attestation,
whose signature covers all links before it, and the signed snapshot that counts it.

The same checks as ``verify.mjs record``, but for ``sum``, which needs the rows of all agents.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._json import Json, JsonObject, is_object, parse_canonical
from ..errors import UnreadableError
from ._bytes import base64_decode, sha256
from ._dsse import Envelope, dsse_key_id, leaf_of
from ._ed25519 import verify_strict
from ._logged import check_log_entry
from ._note import leaf_hash, verify_inclusion
from ._outcome import Check, fail, not_run, passed, skip
from ._reading import (
    decode_base64,
    decode_hex,
    is_count,
    read_object,
    require_index,
    require_object,
    require_objects,
    require_text,
    require_texts,
)
from ._receipt import read_log_evidence, read_receipt
from ._statement import AGENT_HEADS, STATEMENT_TYPE, empty_link, is_place, next_link
from ._time import parse_time
from ._trust import Trust, TrustedKey

_TAG_LABEL = b"countersign/agent-tag/v1\n"
_ROW_BYTES = 72
_FRESH_HOURS = 2
_AHEAD_SECONDS = 300


@dataclass(frozen=True)
class _Entry:
    sequence: int
    payload_hash: bytes
    log_origin: str
    log_index: int
    mark: str


@dataclass(frozen=True)
class _Page:
    slug: str
    agent_id: str
    entries: list[_Entry]
    head: tuple[int, bytes]
    snapshot: Json
    has_snapshot: bool
    next: float | None


@dataclass(frozen=True)
class Held:
    """What somebody can prove of an entry, by its signed payload."""

    is_sound: bool
    slug: str
    place: JsonObject | None
    payload_hash: bytes


def is_record(given: JsonObject) -> bool:
    return all(name in given for name in ("agent_id", "entries", "head"))


def _read_entry(entry: JsonObject) -> _Entry:
    kind, visibility = entry.get("kind"), entry.get("visibility")
    if kind in ("decision", "agent_change"):
        mark = str(kind)
    elif kind == "attestation" and visibility in ("public", "private", "erased"):
        mark = str(visibility)
    else:
        raise UnreadableError("entries: an unknown kind or visibility")
    found = _Entry(
        require_index(entry, "sequence"),
        decode_hex(require_text(entry, "payload_hash"), "payload_hash", 32),
        require_text(entry, "log_origin"),
        require_index(entry, "log_index"),
        mark,
    )
    if mark == "public":
        require_text(entry, "attestation_id")
    return found


def _read_page(given: str | Mapping[str, Any]) -> _Page:
    page = read_object(given)
    head, following = require_object(page, "head"), page.get("next", "")
    entries = require_objects(page, "entries")
    if following is not None and (isinstance(following, bool) or not isinstance(following, (int, float))):
        raise UnreadableError("next: expected a number or null")
    return _Page(
        require_text(page, "slug"),
        require_text(page, "agent_id"),
        [_read_entry(entry) for entry in entries],
        (require_index(head, "sequence"), decode_hex(require_text(head, "link"), "head.link", 32)),
        page.get("snapshot"),
        "snapshot" in page,
        following,
    )


def _join(pages: Sequence[_Page]) -> tuple[list[_Entry], Check | None]:
    """All entries, to the head that the first page states."""
    first, entries = pages[0], list[_Entry]()
    for page in pages:
        if page.agent_id != first.agent_id:
            raise UnreadableError("agent_id: differs from page to page")
        start = len(entries) + 1
        entries += page.entries
        end = len(entries) + 1
        if page.next is None or end > first.head[0]:
            return entries, None
        if page.next != end or not page.entries:
            return entries, fail("page_unending", **{"from": start})
    raise UnreadableError(f"the pages from number {len(entries) + 1} on are missing")


class _Walk:
    """Numbers without a gap, places in the log that rise, and links that were computed here and nowhere else."""

    def __init__(self, agent_id: str) -> None:
        self.agent_id = agent_id
        self.links = [empty_link(agent_id)]
        self._last: _Entry | None = None
        self._closed = set[str]()

    def add(self, entry: _Entry, signed: Held | None) -> Check | None:
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

    def _is_later(self, entry: _Entry) -> bool:
        last = self._last
        if last is None:
            return True
        if last.log_origin == entry.log_origin:
            return last.log_index < entry.log_index
        return entry.log_origin not in self._closed


@dataclass(frozen=True)
class _Snapshot:
    row: bytes
    row_index: int
    proof: list[bytes]
    salt: bytes
    statement: JsonObject

    @property
    def counted(self) -> int | None:
        number = int.from_bytes(self.row[32:40], "big") if len(self.row) == _ROW_BYTES else 0
        return number if number >= 1 and is_count(number) else None


def _read_snapshot(page: _Page) -> _Snapshot | None:
    if not page.has_snapshot:
        return None
    if not is_object(page.snapshot):
        raise UnreadableError("snapshot: expected an object")
    shown = page.snapshot
    if re.search(r"/log/(?:\d+/)?agent-heads/\d+$", require_text(shown, "rows_url")) is None:
        raise UnreadableError("rows_url: not the address of a snapshot")
    return _Snapshot(
        row=decode_base64(require_text(shown, "row"), "row"),
        row_index=require_index(shown, "row_index"),
        proof=[decode_base64(one, "inclusion_proof", 32) for one in require_texts(shown, "inclusion_proof")],
        salt=decode_base64(require_text(shown, "salt"), "snapshot.salt", 16),
        statement=require_object(shown, "statement"),
    )


def _parse_heads(payload: bytes) -> JsonObject | None:
    """The predicate of a snapshot's statement; None for bytes that are not the canonical form of one."""
    statement = parse_canonical(payload)
    predicate = statement and statement.get("predicate")
    if statement is None or not is_object(predicate) or statement.get("_type") != STATEMENT_TYPE:
        return None
    counts = ("covers_size", "agents", "entries", "statements", "earlier_size")
    texts = ("log_origin", "root", "at", "signed_by")
    is_whole = all(is_count(predicate.get(name)) for name in counts)
    is_whole = is_whole and all(isinstance(predicate.get(name), str) for name in texts)
    subject = statement.get("subject")
    named = subject[0] if isinstance(subject, list) and len(subject) == 1 else None
    digest = named.get("digest") if is_object(named) and named.get("name") == "agent-heads" else None
    has_digest = is_object(digest) and isinstance(digest.get("sha256"), str)
    is_heads = statement.get("predicateType") == AGENT_HEADS and is_whole and has_digest
    return predicate if is_heads else None


def _find_signer(statement: JsonObject, payload: bytes, origin: str, index: int, trust: Trust) -> TrustedKey | None:
    """The trusted key that signs for this place of the log and has signed both forms."""
    signature = decode_base64(require_text(statement, "signature"), "signature", 64)
    key_id = require_text(statement, "key_id")
    fitting = (
        key
        for key in trust.keys
        if key.key_id == key_id and key.log_origin in (None, origin) and key.signs_for(index)
    )
    key = next(fitting, None)
    if key is None or not verify_strict(signature, payload, key.public_key):
        return None
    return key if _envelope_of(statement, payload, key).is_signed_by(key.public_key) else None


def _envelope_of(statement: JsonObject, payload: bytes, key: TrustedKey) -> Envelope:
    signature = decode_base64(require_text(statement, "envelope_signature"), "envelope_signature", 64)
    return Envelope(payload, signature, dsse_key_id(key.public_key))


def _read_heads(statement: JsonObject, trust: Trust) -> JsonObject | Check:
    """The statement under a trusted key, and its leaf under a trusted checkpoint, not before what it covers."""
    payload = require_text(statement, "payload").encode(errors="replace")
    decode_base64(require_text(statement, "signature"), "signature", 64)
    decode_base64(require_text(statement, "envelope_signature"), "envelope_signature", 64)
    require_text(statement, "key_id")
    log = require_object(statement, "log")
    evidence, origin = read_log_evidence(log), require_text(log, "origin")
    heads = _parse_heads(payload)
    if heads is None:
        return fail("snapshot_malformed")
    key = _find_signer(statement, payload, origin, evidence.index, trust)
    checks, _, checkpoint = check_log_entry(evidence.index, evidence.entry, evidence.inclusion_proof, evidence.checkpoint, trust)
    is_signed = (
        key is not None
        and leaf_of(_envelope_of(statement, payload, key), key.public_key) == evidence.entry
        and all(check.status == "pass" for check in checks)
        and checkpoint is not None
        and checkpoint.origin == origin == heads["log_origin"]
        and evidence.index >= _number(heads, "covers_size")
    )
    return heads if is_signed else fail("snapshot_unsigned")


def _number(value_of: JsonObject, name: str) -> int:
    value = value_of[name]
    return value if isinstance(value, int) else 0


def _check_row(shown: _Snapshot, heads: JsonObject, agent_id: str) -> Check | None:
    if shown.row[:32] != sha256(_TAG_LABEL, shown.salt, agent_id.encode()) or shown.counted is None:
        return fail("snapshot_malformed")
    try:
        root = base64_decode(str(heads["root"]))
    except ValueError:
        root = b""
    is_in = verify_inclusion(leaf_hash(shown.row), shown.row_index, _number(heads, "agents"), shown.proof, root)
    return None if is_in else fail("snapshot_proof_invalid")


def _show(iso: str) -> str:
    return re.sub(r"(?:\.\d+)?Z$", " UTC", iso.replace("T", " ", 1))


def _check_snapshot(first: _Page, entries: list[_Entry], walk: _Walk, trust: Trust, now: float | None) -> dict[str, Check]:
    """Checks ``snapshot``, ``sum`` and ``counted``."""
    head = first.head[0]
    shown = _read_snapshot(first)
    if shown is None:
        made = skip("snapshot_not_made")
        return {"snapshot": made, "sum": made, "counted": skip("record_not_counted", number=head)}
    heads = _read_heads(shown.statement, trust)
    broken = heads if isinstance(heads, Check) else _check_row(shown, heads, first.agent_id)
    if broken is not None or isinstance(heads, Check):
        return _broken(broken or fail("snapshot_malformed"))
    counted = shown.counted or 0
    if counted >= len(walk.links) or walk.links[counted] != shown.row[40:]:
        return _broken(fail("snapshot_mismatch", number=counted))
    size, origin, at = _number(heads, "covers_size"), heads["log_origin"], str(heads["at"])
    own = (entry for entry in entries if entry.log_origin == origin)
    wrong = next((one for one in own if (one.log_index < size) != (one.sequence <= counted)), None)
    if wrong is not None:
        return _broken(fail("snapshot_count_mismatch", counted=counted, number=wrong.sequence))
    words = f"number {counted} is in the snapshot of {_show(at)}, at {size} leaves"
    return {"snapshot": passed(words), "sum": skip("sum_not_run"), "counted": _check_head(head, counted, at, now)}


def _broken(snapshot: Check) -> dict[str, Check]:
    return {"snapshot": snapshot, "sum": not_run(), "counted": not_run()}


def _check_head(head: int, counted: int, at: str, now: float | None) -> Check:
    """Whether the newest signed count ends with the head, and is of now."""
    if counted < head:
        return skip("record_tail_not_counted", counted=counted, number=head, time=_show(at))
    age = 0.0 if now is None else now - parse_time(at) / 1000
    if not -_AHEAD_SECONDS < age <= _FRESH_HOURS * 3600:
        return skip("count_not_fresh", time=_show(at), hours=_FRESH_HOURS)
    return passed(f"to number {head} of {head}, as of {_show(at)}")


def _check_newest(first: _Page, entries: list[_Entry], walk: _Walk, held: Mapping[int, Held]) -> Check:
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
    if found.place["previous"] != walk.links[number - 1].hex():
        return fail("record_broken", number=number - 1)
    return passed(f"number {number} is signed, and with it every number before it")


def _check_receipts(walk: _Walk, receipts: Sequence[Held], held: Mapping[int, Held]) -> Check:
    if not receipts:
        return skip("record_no_receipts")
    for one in receipts:
        if not one.is_sound or one.place is None:
            return fail("record_receipt_invalid")
        number = _number(one.place, "sequence")
        if number >= len(walk.links) or one.place["agent_id"] != walk.agent_id:
            return fail("record_entry_absent", number=number)
        if held[number].payload_hash != one.payload_hash:
            return fail("record_entry_mismatch", number=number)
    return passed("the receipt is in the record" if len(receipts) == 1 else f"all {len(receipts)} receipts are in the record")


def read_held(given: str, is_sound: bool, statement: JsonObject | None) -> Held:
    """``is_sound``: whether all of it verifies, as far as it is verified here. ``statement``: None if it doesn't."""
    receipt = read_receipt(read_object(given))
    predicate = None if statement is None else statement.get("predicate")
    request = predicate.get("request") if is_object(predicate) else None
    place = predicate.get("record") if is_object(predicate) else None
    slug = str(request.get("agent_slug")) if is_object(request) else ""
    return Held(is_sound, slug, place if is_object(place) and is_place(place) else None, receipt.payload_hash)


def check_record(
    pages: Sequence[str | Mapping[str, Any]],
    trust: Trust,
    receipts: Sequence[str],
    read: Callable[[str], Held],
    now: float | None,
) -> list[Check]:
    """``pages``: all answers of GET /v1/agent/{slug}/record, in order. ``now``: Unix seconds; None for a kept record."""
    if not pages:
        raise UnreadableError("no page of a record")
    parsed = [_read_page(page) for page in pages]
    first, walk = parsed[0], _Walk(parsed[0].agent_id)
    found = [read(receipt) for receipt in receipts]
    held = {_number(one.place, "sequence"): one for one in found if one.place is not None}
    _read_snapshot(first)
    entries, fault = _join(parsed)
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
        checks["newest_signed"] = _check_newest(first, entries, walk, held)
        checks |= _check_snapshot(first, entries, walk, trust, now)
        checks["receipts"] = _check_receipts(walk, found, held)
    else:
        checks |= {"newest_signed": not_run(), **_broken(not_run()), "receipts": not_run()}
    return [check.named(name) for name, check in checks.items()]
