"""The two checks of when a statement was made: after what it names, and before others saw it in the log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._iso_time import parse_time, to_iso
from .._json import is_object
from ._bytes import sha256
from ._note import (
    VerifierKey,
    Witnessed,
    leaf_hash,
    parse_checkpoint,
    parse_note,
    read_cosigners,
    verify_checkpoint,
    verify_inclusion,
)
from ._outcome import Check, fail, miss, passed, skip
from ._receipt import Anchor, LogEvidence, TimeEvidence
from ._statement import Action

_SLACK_MS = 2_000
"""Time by which the clocks of honest machines may differ; witnesses' times are whole seconds."""


@dataclass(frozen=True)
class Bound:
    """A time, and whose clock it is from."""

    at: str
    time_ms: int
    by: list[str]

    @property
    def words(self) -> str:
        return show_time(self.time_ms)


def show_time(time_ms: float) -> str:
    return to_iso(time_ms)[:19].replace("T", " ") + " UTC"


def _bound(seen: Sequence[Witnessed]) -> Bound:
    """Takes the earliest time: sound as soon as one of these witnesses is honest."""
    earliest = min(one.time_ms for one in seen)
    return Bound(to_iso(earliest), earliest, list(dict.fromkeys(one.name for one in seen)))


def check_not_before(
    time: TimeEvidence | None,
    _log: LogEvidence,
    action: Action | None,
    is_hidden: bool,
    witnesses: Sequence[VerifierKey],
    without_payload: Check,
) -> tuple[Check, Bound | None]:
    note = None if time is None else time.checkpoint
    if is_hidden:
        # Without the payload we can't tell if the note is the one that it names, only if it is a cosigned note.
        is_note = note is None or read_cosigners(note, witnesses) is not None
        return without_payload if is_note else fail("cosigned_checkpoint_mismatch"), None
    if action is None:
        return fail("statement_malformed"), None
    named = action.predicate.get("not_before")
    kind = named.get("type") if is_object(named) else None
    if note is not None and kind != "tlog-cosignature":
        return fail("cosigned_checkpoint_mismatch"), None
    if not is_object(named):
        return skip("no_lower_bound"), None
    if kind == "drand":
        return miss("time_stamp_not_checked"), None
    if note is None and time is None:
        return skip("time_evidence_absent"), None
    is_named = note is not None and sha256(note.encode()).hex() == named["checkpoint_hash"]
    if note is None or not is_named or not _is_about(note, named["origin"], named["size"]):
        return fail("cosigned_checkpoint_mismatch"), None
    witnessed = read_cosigners(note, witnesses)
    if witnessed is None:
        return fail("cosignature_invalid"), None
    if not witnessed:
        return skip("time_untrusted"), None
    bound = _bound(witnessed)
    stated = parse_time(action.text("timestamp"))
    who = ", ".join(bound.by)
    if stated < bound.time_ms - _SLACK_MS:
        return fail("time_too_early", stated=show_time(stated), bound=bound.words, who=who), None
    return passed(f"made after {bound.words} ({who})"), bound


def _is_about(note: str, origin: object, size: object) -> bool:
    try:
        checkpoint = parse_checkpoint(parse_note(note).text)
    except ValueError:
        return False
    return (checkpoint.origin, checkpoint.size) == (origin, size)


def check_not_after(
    time: TimeEvidence | None,
    log: LogEvidence,
    action: Action | None,
    is_hidden: bool,
    witnesses: Sequence[VerifierKey],
    without_payload: Check,
    log_key: VerifierKey,
) -> tuple[Check, Bound | None]:
    """Every anchor has to hold; the earliest time of all counts."""
    anchors = [] if time is None else time.anchors
    if not anchors:
        return skip("no_upper_bound"), None
    seen: list[Witnessed] = []
    for anchor in anchors:
        found = _read_anchor(anchor, log, witnesses, log_key)
        if isinstance(found, Check):
            return found, None
        seen += found
    if any(anchor.is_stamped for anchor in anchors):
        return miss("time_stamp_not_checked"), None
    if not seen:
        return skip("time_untrusted"), None
    whole = _bound(seen)
    first = [one for one in seen if one.time_ms == whole.time_ms]
    bound = _bound(first)
    if is_hidden:
        return without_payload, bound
    if action is None:
        return fail("statement_malformed"), None
    stated = parse_time(action.text("timestamp"))
    who = ", ".join(bound.by)
    if stated > bound.time_ms + _SLACK_MS:
        return fail("time_too_late", stated=show_time(stated), bound=bound.words, who=who), None
    return passed(f"made before {bound.words} ({who})"), bound


def _read_anchor(
    anchor: Anchor, log: LogEvidence, witnesses: Sequence[VerifierKey], log_key: VerifierKey
) -> list[Witnessed] | Check:
    """Witnesses of the leaf under this checkpoint and their times; or what is wrong with it."""
    signed = verify_checkpoint(anchor.checkpoint, log_key)
    if isinstance(signed, Check):
        return signed
    size, root = signed.checkpoint.size, signed.checkpoint.root
    is_in = verify_inclusion(leaf_hash(log.entry), log.index, size, anchor.inclusion_proof, root)
    if size != anchor.tree_size or not is_in:
        return fail("anchor_proof_invalid", size=size)
    witnessed = read_cosigners(anchor.checkpoint, witnesses)
    return fail("cosignature_invalid") if witnessed is None else witnessed
