"""Verifies receipts offline: every check but the pairings of zero-knowledge proofs, which ``verify.mjs`` does.

What carries such a proof is therefore at best ``incomplete`` here, and ``missing`` names the check.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from .._facts import Fact, Opened, facts_of_approval, facts_of_receipt
from .._json import Json, JsonObject, is_object
from ..errors import UnreadableError
from ._attestation import Subject, check_attestation
from ._authorization import check_authorization
from ._bundle import check_hints, is_bundle, parse_bundle, receipt_of
from ._bytes import sha256
from ._chain import ChainLink, ChainReport, check_chain
from ._logged import check_log_entry
from ._note import check_post_quantum, parse_tlog_proof
from ._opening import check_opening, read_opening
from ._outcome import Check, fail, passed, skip
from ._pack import PackReport, verify_pack
from ._reading import read_object
from ._receipt import is_attestation_answer, read_receipt
from ._record import Held, check_record, is_record, read_held
from ._restated import check_restated, check_restated_request, list_unproven_bounds
from ._time import Bound
from ._trust import Trust, TrustedKeys, read_trust
from ._warnings import Warning, compare_warnings, draw_warnings, warning_of

__all__ = [
    "ChainLink",
    "ChainReport",
    "Check",
    "PackReport",
    "Report",
    "Trust",
    "TrustedKeys",
    "Warning",
    "check_chain",
    "read_trust",
    "verify",
    "verify_pack",
    "verify_record",
]


@dataclass(frozen=True)
class Report:
    kind: Literal["attestation", "bundle", "human_authorization", "tlog_proof", "record"]
    verdict: Literal["valid", "invalid", "incomplete", "erased"]
    """``valid`` with an empty list of warnings is good news."""
    checks: list[Check]
    missing: list[str]
    """Checks that had nothing to read, or that this verifier doesn't do."""
    unproven: list[str]
    """Fields that the file shows and nothing in it proves."""
    statement: dict[str, Any] | None = None
    """Signed statement; None if a check failed."""
    warnings: list[Warning] = field(default_factory=list[Warning])
    """Bad news in an authentic record."""
    stated_warnings: list[str] = field(default_factory=list[str])
    """Warnings of the file that lack the bytes to show them."""
    made_after: Bound | None = None
    made_before: Bound | None = None
    authorization_grade: str | None = None
    facts: list[Fact] = field(default_factory=list[Fact])
    """Amount, action, deciders and time in words; empty if a check failed."""
    claimed: bool | None = None
    """Claim of the file about itself; never believed."""
    pinned: bool = False
    """False: the keys came from the service itself, so this shows only that it agrees with itself."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def verify(
    receipt: str | Mapping[str, Any],
    trust: Trust,
    *,
    attestation_id: str | None = None,
    payload: bytes | None = None,
    now: int = 2**53,
) -> Report:
    """Evidence and keys → report. No network, no clock, and no verdict in the file is believed.

    ``attestation_id``: the id that was asked for. ``payload``: the bytes that it must be about. ``now``: Unix
    seconds. Raises UnreadableError for what can't be verified at all.
    """
    if isinstance(receipt, str) and receipt.startswith("c2sp.org/tlog-proof@"):
        if attestation_id is not None:
            raise UnreadableError("a tlog-proof, where an attestation was asked for")
        return _verify_tlog_proof(receipt, trust, payload)
    given = read_object(receipt)
    if is_bundle(given):
        return _verify_bundle(given, trust, attestation_id, payload, now)
    is_asked = attestation_id is not None or payload is not None
    if given.get("type") == "human_authorization":
        return _verify_authorization(given, None, trust, is_asked)
    if "presentation_header" in given and "disclosed" in given:
        raise UnreadableError("a zero-knowledge presentation: verify.mjs verifies it")
    if is_attestation_answer(given):
        return _verify_attestation(given, trust, attestation_id, payload)
    inner = given.get("human_authorization")
    if is_object(inner) and "request_id" in given and inner.get("type") == "human_authorization":
        # The answer of GET /v1/authorize/{id}; with the owner's key it says what the approval page showed.
        return _verify_authorization(inner, given, trust, is_asked)
    if is_record(given):
        if is_asked:
            raise UnreadableError("a record, where an attestation was asked for")
        return verify_record([given], trust)
    raise UnreadableError("neither an attestation, a record, a Sigstore bundle, a human_authorization nor a tlog-proof")


def verify_record(
    pages: Sequence[str | Mapping[str, Any]],
    trust: Trust,
    *,
    receipts: Sequence[str] = (),
    now: float | None = None,
) -> Report:
    """A whole record → report: all answers of GET /v1/agent/{slug}/record, in order.

    ``receipts``: texts of receipts that must be in it; that of the newest public attestation shows that the record was
    signed. ``now``: Unix seconds, against which the last signed count is fresh or old; None for a record that was kept.
    ``incomplete``: nothing failed, and no fresh signed count says that this is all, or the newest receipt wasn't given.
    """

    def read(receipt: str) -> Held:
        report = verify(receipt, trust)
        return read_held(receipt, report.verdict != "invalid", report.statement)

    checks = check_record(pages, trust, [read(receipt) for receipt in receipts], now)
    missing = [check.name for check in checks if check.is_missing]
    missing += [check.name for check in checks if check.name == "counted" and check.status == "not_applicable"]
    return Report("record", _verdict(checks, missing), checks, missing, [])


def _verdict(checks: list[Check], missing: list[str], is_erased: bool = False) -> Any:
    if not checks or any(check.status == "fail" for check in checks):
        return "invalid"
    return "erased" if is_erased else "incomplete" if missing else "valid"


def _check_log_again(checkpoint: str, checks: list[Check], trust: Trust) -> list[Check]:
    """A checkpoint that the log's Ed25519 key has signed, by its key for the time of quantum computers."""
    is_signed = any(check.name == "checkpoint_signature" and check.status == "pass" for check in checks)
    return check_post_quantum(checkpoint, trust.post_quantum_keys) if is_signed else []


def _compare_payload(subject: Subject, payload: bytes | None) -> list[Check]:
    """Compares hashes, of which the log has a hidden payload's too."""
    if payload is None:
        return []
    is_same = subject.receipt.payload_hash == sha256(payload)
    outcome = passed("its payload_hash is the hash of this payload") if is_same else fail("payload_mismatch")
    return [outcome.named("payload")]


def _verify_attestation(given: JsonObject, trust: Trust, asked: str | None, payload: bytes | None) -> Report:
    subject = Subject(read_receipt(given), trust)
    checks = check_attestation(subject)
    is_failed = any(check.status == "fail" for check in checks)
    warnings = [] if is_failed else draw_warnings(subject)
    restated, unproven = check_restated(given, subject, asked)
    differs, stated = compare_warnings(given, subject, warnings)
    if differs is not None and restated.status != "fail":
        restated = fail("field_mismatch", field=f"warnings ({differs})")
    unproven += list_unproven_bounds(given, subject.made_after, subject.made_before)
    about = [
        restated.named("restated_fields"),
        *_compare_payload(subject, payload),
        *_check_log_again(subject.receipt.log.checkpoint, checks, trust),
        *_check_opened(given, _shown_authorization(subject)),
    ]
    checks = [*checks, *about]
    return _report("attestation", subject, checks, unproven, warnings, stated, given.get("valid"), given.get("opening"))


def _shown_authorization(subject: Subject) -> JsonObject | None:
    shown = subject.receipt.human_authorization
    return shown if subject.authorization is not None and is_object(shown) else None


def _check_opened(given: JsonObject, authorization: JsonObject | None) -> list[Check]:
    """A check of its own, in files that open something."""
    opening = given.get("opening")
    if opening is None:
        return []
    checked = fail("opening_without_approval") if authorization is None else check_opening(opening, authorization)
    return [checked.named("opening")]


def _verify_bundle(
    given: JsonObject, trust: Trust, asked: str | None, payload: bytes | None, now: int
) -> Report:
    try:
        bundle = parse_bundle(given)
    except ValueError as error:
        raise UnreadableError(f"a bundle that this service does not write: {error}") from error
    subject = Subject(receipt_of(bundle), trust)
    checks = check_attestation(subject)
    is_failed = any(check.status == "fail" for check in checks)
    hints = check_hints(bundle, subject.receipt, subject.action, trust, subject.log_key, asked, now)
    warnings = [] if is_failed else draw_warnings(subject)
    again = _check_log_again(subject.receipt.log.checkpoint, checks, trust)
    about = [hints[0].named("restated_fields"), *_compare_payload(subject, payload), *again]
    return _report("bundle", subject, [*checks, *about], hints[1], warnings, [], None)


def _report(
    kind: Literal["attestation", "bundle"],
    subject: Subject,
    checks: list[Check],
    unproven: list[str],
    warnings: list[Warning],
    stated: list[str],
    claimed: object,
    opening: Json = None,
) -> Report:
    missing = [check.name for check in checks if check.is_missing]
    verdict = _verdict(checks, missing, subject.receipt.payload == "erased")
    has_failed = verdict == "invalid"
    return Report(
        kind,
        verdict,
        checks,
        missing,
        [] if has_failed else unproven,
        None if has_failed or subject.action is None else subject.action.statement,
        [] if has_failed else warnings,
        [] if has_failed else stated,
        None if has_failed else subject.made_after,
        None if has_failed else subject.made_before,
        None if has_failed or subject.authorization is None else subject.authorization.grade,
        [] if has_failed else _facts_of(subject, opening),
        claimed if isinstance(claimed, bool) else None,
    )


def _facts_of(subject: Subject, opening: Json) -> list[Fact]:
    if subject.action is None:
        return []
    shown = _shown_authorization(subject)
    opened = None if shown is None or opening is None else read_opening(opening, shown)
    return facts_of_receipt(subject.action.predicate, shown, opened)


def _verify_authorization(
    given: JsonObject, answer: JsonObject | None, trust: Trust, is_asked: bool
) -> Report:
    if is_asked:
        raise UnreadableError("a human_authorization, where an attestation was asked for")
    is_shown = answer is not None and ("context" in answer or "context_salt" in answer)
    checked = check_authorization(given, trust, answer if is_shown else None)
    if checked is None:
        raise UnreadableError("a malformed human_authorization")
    checks, unproven = checked.checks, list[str]()
    if answer is not None:
        restated, unproven = check_restated_request(answer, given)
        checks = [*checks, restated, *_check_opened(answer, given)]
    # The service gives none out without its log entry: such an approval is perhaps in no record.
    missing = [one.name for one in checks if one.is_missing or one.reason == "pairing_not_checked"]
    verdict = _verdict(checks, missing)
    warnings = [warning_of("approval_test")] if checked.grade == "test" and verdict != "invalid" else []
    return Report(
        "human_authorization",
        verdict,
        checks,
        missing,
        [] if verdict == "invalid" else unproven,
        warnings=warnings,
        authorization_grade=None if verdict == "invalid" else checked.grade,
        facts=[] if verdict == "invalid" else facts_of_approval(given, _read_opened(answer, given)),
    )


def _read_opened(answer: JsonObject | None, given: JsonObject) -> Opened | None:
    opening = None if answer is None else answer.get("opening")
    return None if opening is None else read_opening(opening, given)


def _verify_tlog_proof(file: str, trust: Trust, payload: bytes | None) -> Report:
    try:
        parsed = parse_tlog_proof(file)
    except ValueError:
        raise UnreadableError("a malformed tlog-proof") from None
    if parsed.extra is None:
        raise UnreadableError("a tlog-proof without the leaf in its extra line")
    checks, leaf, _ = check_log_entry(parsed.index, parsed.extra, parsed.proof, parsed.checkpoint, trust)
    if payload is None:
        about = skip("payload_not_given")
    elif leaf is not None and leaf.payload_hash == sha256(payload):
        about = passed("the leaf is about this payload")
    else:
        about = fail("entry_payload_mismatch")
    checks = [*checks, about.named("payload_hash")]
    checks += _check_log_again(parsed.checkpoint, checks, trust)
    return Report("tlog_proof", _verdict(checks, []), checks, [], [])
