"""A file of an evidence pack's entries, checked by itself. Nothing of another file is needed, so processes can share them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import cast

from .._json import Json, JsonObject, canonical_hash, equal, is_list, is_object
from ..errors import UnreadableError
from ._authorization_shape import is_authorization
from ._bytes import sha256
from ._logged import check_log_entry, is_logged
from ._opening import check_opening
from ._reading import decode_hex, require_object, require_text
from ._receipt import read_log_evidence
from ._record import Held, read_decided, read_held
from ._snapshot import number_of
from ._statement import parse_change, parse_decision
from ._trust import Trust
from ._warnings import SIGNED_WARNINGS

DECISION_FILE = "authorization_decision"
CHANGE_FILE = "agent_change"
_CONTENT = ("request", "human_authorization", "decided_by", "rules", "derivation", "opening", "changed_into")


@dataclass(frozen=True)
class Entry:
    """The signed bytes of one entry in a row, and nothing that is only shown with them."""

    file: str
    sequence: int
    """-1 for what is no number."""
    slug: str | None
    state: str
    """public, private, withheld (private, and its content was kept out), or erased."""
    time: str | None
    approval: JsonObject | None
    decision: str | None
    is_decision: bool
    is_test: bool
    warnings: tuple[str, ...] = ()

    @property
    def is_inside(self) -> bool:
        """False for the entries beside the period."""
        return re.search(r"(?:^|/)(?:decisions|attestations)/", self.file) is not None

    @property
    def is_hidden(self) -> bool:
        return self.state in ("withheld", "erased")


@dataclass(frozen=True)
class Checked:
    problem: str | None
    payload_hash: bytes = b""
    held: Held | None = None
    """Signed place, if the content is there."""
    not_done: frozenset[str] = frozenset()
    """Reasons of checks that only verify.mjs does."""


def _payload_of(given: JsonObject) -> bytes | None:
    payload = given.get("payload")
    return payload.encode(errors="replace") if isinstance(payload, str) else None


def _number(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else -1


def authorization_of(given: JsonObject) -> JsonObject | None:
    found = given.get("human_authorization")
    return found if is_object(found) and is_authorization(found) else None


def derived_terms_of(given: JsonObject) -> JsonObject | None:
    """Terms of an approved standing approval that was suggested; None for any other entry."""
    found = authorization_of(given)
    terms = None if found is None else cast("JsonObject", found["request"])["grant"]
    return terms if is_object(terms) and "derived" in terms else None


def changed_into_of(given: JsonObject) -> int | None:
    """Number of the decision about the request that an approver made of this one."""
    number = given.get("changed_into")
    # Whole numbers may be written as 3.0 or 3e0.
    whole = int(number) if isinstance(number, float) and number.is_integer() else number
    if not isinstance(whole, int) or isinstance(whole, bool) or abs(whole) >= 2**53:
        return None
    return whole if is_object(given.get("request")) and whole > _number(given.get("sequence")) else None


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _read_attestation(file: str, given: JsonObject, predicate: JsonObject | None, warnings: tuple[str, ...]) -> Entry:
    record = given.get("record")
    approval = None if predicate is None else cast("JsonObject", predicate["human_approval"])
    missing = "erased" if given.get("status") == "erased" else "withheld"
    is_test = approval is not None and approval.get("environment", "production") != "production"
    return Entry(
        file,
        _number(record.get("sequence")) if is_object(record) else -1,
        None if predicate is None else _text(cast("JsonObject", predicate["request"]).get("agent_slug")),
        missing if predicate is None else "public" if predicate["is_public"] is True else "private",
        None if predicate is None else _text(predicate["timestamp"]),
        approval,
        None,
        False,
        is_test,
        warnings,
    )


def _read_decision(file: str, given: JsonObject) -> Entry:
    payload, request, authorization = _payload_of(given), given.get("request"), authorization_of(given)
    decided = None if payload is None else parse_decision(payload)
    decision = None if decided is None else _text(decided["decision"])
    is_whole = is_object(request) and (decision != "approved" or authorization is not None)
    return Entry(
        file,
        _number(given.get("sequence")),
        _text(request.get("agent_slug")) if payload is not None and is_object(request) else None,
        "erased" if payload is None else "private" if is_whole else "withheld",
        None if decided is None else _text(decided["decided_at"]),
        None,
        decision,
        True,
        authorization is not None and authorization["environment"] != "production",
    )


def _read_change(file: str, given: JsonObject) -> Entry:
    payload = _payload_of(given)
    change = None if payload is None else parse_change(payload)
    is_whole = change is not None and (change["reason_hash"] is None or isinstance(given.get("reason"), str))
    return Entry(
        file,
        _number(given.get("sequence")),
        None,
        "private" if is_whole else "withheld",
        None if change is None else _text(change["changed_at"]),
        None,
        None if change is None else _text(change["change"]),
        True,
        False,
    )


def _has_one(given: JsonObject, *names: str) -> bool:
    return any(given.get(name) is not None for name in names)


def _check_receipt(file: str, given: JsonObject, trust: Trust) -> tuple[Entry, Checked]:
    from . import verify

    report = verify(given, trust)
    failed = next((f"{check.name}: {check.detail}" for check in report.checks if check.status == "fail"), None)
    predicate = (report.statement or {}).get("predicate")
    warnings = tuple(one.code for one in report.warnings if one.code in SIGNED_WARNINGS)
    entry = _read_attestation(file, given, predicate if is_object(predicate) else None, warnings)
    if report.verdict == "invalid":
        return entry, Checked(failed or "does not hold")
    not_done = {check.name: str(check.reason) for check in report.checks if str(check.reason).endswith("_not_checked")}
    # A pack includes everything that the payload names, so it was taken out.
    missing = [name for name in report.missing if name not in not_done]
    if missing and report.statement is not None:
        return entry, Checked(f"{', '.join(missing)}: not in the file")
    payload_hash = decode_hex(require_text(given, "payload_hash"), "payload_hash", 32)
    held = read_held(given, True, report.statement)
    return entry, Checked(None, payload_hash, held if held.place is not None else None, frozenset(not_done.values()))


def _check_erased(given: JsonObject, payload_hash: bytes, trust: Trust) -> Checked:
    """After erasure nothing but the leaf says that there was a decision, and nothing is shown. A change is never erased."""
    if given["type"] != DECISION_FILE or _has_one(given, *_CONTENT, "reason"):
        return Checked("the payload that was signed is not in the file")
    log = read_log_evidence(require_object(given, "log"))
    checks, leaf, _ = check_log_entry(log.index, log.entry, log.inclusion_proof, log.checkpoint, trust)
    failed = next((check.detail for check in checks if check.status != "pass"), None)
    if failed is None and (leaf is None or leaf.payload_hash != payload_hash):
        failed = "the log entry is of another decision"
    return Checked(failed, payload_hash)


def _find_other_change(given: JsonObject, change: JsonObject) -> str | None:
    if _has_one(given, *_CONTENT) or (change["request_hash"] is None and _has_one(given, "request_id")):
        return "it shows what no change has"
    reason, salt = given.get("reason"), given.get("reason_salt")
    if reason is None:
        return None
    is_signed = isinstance(reason, str) and isinstance(salt, str) and canonical_hash([salt, reason]) == change["reason_hash"]
    return None if is_signed else "the reason is not the one that was signed"


def _find_other_content(given: JsonObject, decision: JsonObject) -> str | None:
    """A part of a decision's content that isn't what was decided."""
    request, authorization = given.get("request"), given.get("human_authorization")
    if is_object(request) and canonical_hash(request) != decision["request_hash"]:
        return "the request is not the one that was decided"
    if given.get("changed_into") is not None and (decision["decision"] != "cancelled" or changed_into_of(given) is None):
        return "changed_into is not of a cancelled request, or no later number"
    asked = [request, authorization.get("request") if is_object(authorization) else None]
    if any(is_object(one) and one.get("request_id") != given.get("request_id") for one in asked):
        return "request_id is another request's"
    by, has_rules = given.get("decided_by"), _has_one(given, "rules")
    if not is_object(authorization):
        if _has_one(given, "opening"):
            return "an opening without its approval"
        if _has_one(given, "derivation"):
            return "a derivation without its standing approval"
        return "it names who decided, which nothing in it shows" if by is not None and not has_rules else None
    if _has_one(given, "derivation") and derived_terms_of(given) is None:
        return "a derivation without its standing approval"
    signed = {name: value for name, value in authorization.items() if name != "log"}
    if canonical_hash(signed) != decision["authorization_hash"]:
        return "the authorization is not that of this decision"
    # With rules beside it, _pack_rules compares it.
    if by is not None and not has_rules and not equal(by, signed.get("decided_by")):
        return "decided_by is not the one that was signed"
    return None


def _check_authorization(given: JsonObject, trust: Trust) -> Checked:
    from . import verify

    authorization = given.get("human_authorization")
    if not is_object(authorization):
        return Checked(None)
    report = verify(authorization, trust)
    not_done = {check.name: str(check.reason) for check in report.checks if str(check.reason).endswith("_not_checked")}
    if report.verdict == "invalid" or any(name not in not_done for name in report.missing):
        failed = next((check.detail for check in report.checks if check.status == "fail"), None)
        return Checked(failed or "the authorization does not hold")
    if given.get("opening") is not None:
        opened = check_opening(given["opening"], authorization)
        if opened.status != "pass":
            return Checked(opened.detail)
    return Checked(None, not_done=frozenset(not_done.values()))


def _check_statement(given: JsonObject, trust: Trust) -> Checked:
    """The file of a decision or a change: its signed statement, its place in the log, and the content, if it is there."""
    payload_hash = decode_hex(require_text(given, "payload_hash"), "payload_hash", 32)
    if "payload" in given and given["payload"] is None:
        return _check_erased(given, payload_hash, trust)
    payload = require_text(given, "payload").encode(errors="replace")
    if sha256(payload) != payload_hash:
        return Checked("payload_hash is not that of the payload")
    decision, change = parse_decision(payload), parse_change(payload)
    place = (decision or change or {}).get("record")
    if not is_object(place):
        return Checked("the payload is not a decision of a record")
    if not is_logged(given, trust):
        return Checked("the decision is not signed by a trusted key, or not in the log")
    if not equal(place["sequence"], given.get("sequence")):
        return Checked("the payload has another number")
    if not equal(require_object(given, "log").get("record"), place):
        return Checked("log.record is not the place in the payload")
    if (given["type"] == CHANGE_FILE) != (change is not None):
        return Checked("the file is of another kind than its payload")
    problem = _find_other_content(given, decision) if decision else _find_other_change(given, change or {})
    checked = Checked(problem) if problem else _check_authorization(given, trust) if decision else Checked(None)
    return Checked(checked.problem, payload_hash, Held(True, "", place, payload_hash), checked.not_done)


def check_entry(file: str, given: JsonObject, trust: Trust) -> tuple[Entry, Checked]:
    is_change = given.get("type") == CHANGE_FILE
    if not is_change and given.get("type") != DECISION_FILE:
        try:
            return _check_receipt(file, given, trust)
        except UnreadableError as error:
            return _read_attestation(file, given, None, ()), Checked(str(error))
    entry = _read_change(file, given) if is_change else _read_decision(file, given)
    try:
        return entry, _check_statement(given, trust)
    except UnreadableError as error:
        return entry, Checked(str(error))


def list_decided(given: JsonObject) -> list[tuple[int, bytes]]:
    """The decision behind an attestation: its number, and the hash of its payload."""
    decided = read_decided(given.get("human_authorization"))
    if decided is None or decided.place is None:
        return []
    return [(number_of(decided.place, "sequence"), decided.payload_hash)]


def find_checkpoints(value: Json) -> list[str]:
    found = list[str]()
    if is_object(value):
        for name, member in value.items():
            if name == "checkpoint" and isinstance(member, str):
                found.append(member)
            else:
                found += find_checkpoints(member)
    elif is_list(value):
        for member in value:
            found += find_checkpoints(member)
    return found


__all__ = ["CHANGE_FILE", "DECISION_FILE", "Checked", "Entry", "authorization_of", "check_entry", "find_checkpoints", "list_decided"]
