"""Bad news in an authentic record, drawn from verified data and compared with the file's own warnings."""

from __future__ import annotations

from dataclasses import dataclass

from .._json import JsonObject, is_list, is_object
from ..errors import UnreadableError
from ._attestation import Subject, list_unregistered_tools, manifest_of, uses_tools
from ._statement import APPROVAL_STOPS

WARNINGS = {
    "agent_signature_invalid": "The agent's signature was not made with its registered key.",
    "code_hash_mismatch": "The reported code hash is not the registered one.",
    "tools_not_registered": "A tool was used that is not in the registered manifest.",
    "client_gap": "The agent's own number does not follow its last one: an earlier attestation may be missing.",
    "agent_frozen": "The agent's organization had frozen it when this was recorded.",
    "approval_stopped": "The approval was stopped after a run had claimed it, and before this was recorded.",
    "approval_asserted_only": "The human approval is asserted by the caller, not proven.",
    "approval_test": "The approval is a TEST: no real person is proven to have given it.",
    "reported_by_trace": "A trace reported this, not the agent itself: whoever can write to the trace can make it up, "
    "and the times are its exporter's.",
    "signing_key_revoked": "The key that signed this record was revoked later. Its place in the log is before that, "
    "so the signature counts.",
    "zk_key_revoked": "The key of the zero-knowledge proof was revoked later.",
    "content_erased": "The owner erased the content: what the record said can no longer be checked.",
}
"""In one order."""

SIGNED_WARNINGS = tuple(WARNINGS)[:9]
"""Warnings that follow from the signed bytes, so that a list beside them must name exactly these."""


@dataclass(frozen=True)
class Warning:  # noqa: A001
    code: str
    message: str


def warning_of(code: str) -> Warning:
    return Warning(code, WARNINGS[code])


def _from_verdicts(verdicts: JsonObject) -> dict[str, bool]:
    return {
        "agent_signature_invalid": verdicts.get("agent_authenticated") is False,
        "code_hash_mismatch": verdicts.get("code_hash_verified") is False,
        "tools_not_registered": verdicts.get("tools_authorized") is False,
        "client_gap": verdicts.get("client_gap") is True,
    }


def draw_warnings(subject: Subject) -> list[Warning]:
    receipt, action = subject.receipt, subject.action
    key = subject.trust.keys
    facts: dict[str, bool] = {
        "signing_key_revoked": any(one.is_revoked and one.key_id == receipt.key_id for one in key),
        "content_erased": receipt.payload == "erased",
    }
    messages = dict(WARNINGS)
    if action is not None:
        facts |= _from_verdicts(action.verdicts)
        facts["agent_frozen"] = "agent_frozen_at" in action.predicate
        stopped = action.predicate.get("approval_stopped")
        if is_object(stopped):
            facts["approval_stopped"] = True
            why = APPROVAL_STOPS[str(stopped["reason"])]
            messages["approval_stopped"] = f"After a run had claimed the approval, and before this was recorded, {why}."
        facts["approval_asserted_only"] = action.approval["method"] == "hash"
        facts["approval_test"] = action.approval.get("environment", "production") != "production"
        if action.approval["method"] in ("rule", "standing_approval"):
            messages["approval_test"] = "It was decided on a TEST instance. Nobody was asked."
        facts["reported_by_trace"] = "trace" in action.predicate
        tools = list_unregistered_tools(action, manifest_of(receipt)) if uses_tools(action) else None
        if tools:
            named = ", ".join(dict.fromkeys(map(str, tools)))
            messages["tools_not_registered"] = f"Tools were used that are not in the registered manifest: {named}."
    return [Warning(code, messages[code]) for code in WARNINGS if facts.get(code)]


def compare_warnings(given: JsonObject, subject: Subject, own: list[Warning]) -> tuple[str | None, list[str]]:
    """The first that the file's list leaves out or makes up, and what it warns of without the bytes that would show it."""
    codes = [one.code for one in own]
    listed = _read_listed(given)
    if subject.action is not None:
        stated = codes if listed is None else listed
        return next((code for code in SIGNED_WARNINGS if (code in stated) is not (code in codes)), None), []
    shown_facts = _from_verdicts(given)
    shown = [code for code, is_so in shown_facts.items() if is_so]
    stated = shown if listed is None else listed
    names = ("agent_authenticated", "code_hash_verified", "tools_authorized", "client_gap")
    is_shown = dict(zip(shown_facts, (name in given for name in names), strict=True))
    differs = [code for code in shown_facts if is_shown[code] and (code in stated) is not (code in shown)]
    return next(iter(differs), None), [code for code in stated if code not in codes]


def _read_listed(given: JsonObject) -> list[str] | None:
    """None if the answer has no list, as those of the first release; unknown codes are a later release's."""
    if "warnings" not in given:
        return None
    rows = given["warnings"]
    if not is_list(rows):
        raise UnreadableError("warnings: expected a list")
    codes = [row.get("code") for row in rows if is_object(row)]
    return [code for code in WARNINGS if code in codes]
