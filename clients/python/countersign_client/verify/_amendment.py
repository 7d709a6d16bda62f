"""Counter-offers and questions: a request that an approver changed, beside the one that it names.

As lib/protocol/approval/amendment.ts: the same rules, the same reasons.
"""

from __future__ import annotations

from typing import cast

from .._facts import describe_amendment
from .._json import Json, JsonObject, canonical_hash, equal, is_list, is_object
from ._opening import is_shown_content
from ._outcome import Check, fail, passed, skip

_KEPT = (
    "origin",
    "organization",
    "agent_slug",
    "agent_public_key",
    "action",
    "tool",
    "details",
    "grant",
    "usable_for_seconds",
    "expires_at",
)
_LEVELS = ("none", "device", "orb")


def _units(value: Json) -> int:
    whole, _, fraction = str(value).partition(".")
    return int(whole) * 10_000 + int(fraction.ljust(4, "0"))


def _is_lower(now: Json, before: Json) -> bool:
    if not is_object(now) or not is_object(before) or now["currency"] != before["currency"]:
        return False
    return _units(now["value"]) < _units(before["value"])


def _asks_fewer(now: JsonObject, before: JsonObject) -> bool:
    """The names of the groups are hashed in their order, so those of the old request come first."""
    if cast("int", now["approvals_required"]) < cast("int", before["approvals_required"]):
        return True
    if _LEVELS.index(str(now["required_level"])) < _LEVELS.index(str(before["required_level"])):
        return True
    wanted, given = (cast("list[JsonObject]", one["required_approvers"]) for one in (before, now))
    if len(given) < len(wanted):
        return True
    pairs = zip(wanted, given, strict=False)
    return any(a["group"] != b["group"] or cast("int", b["count"]) < cast("int", a["count"]) for a, b in pairs)


def check_amendment(given: JsonObject) -> Check:
    """The chain: asked, changed by whom, approved."""
    now, before = cast("JsonObject", given["request"]), given.get("original_request")
    amends = now.get("amends")
    if not is_object(amends) or not is_object(before):
        return skip("not_amended")
    if canonical_hash(before) != amends["request_hash"] or before["request_id"] == now["request_id"]:
        return fail("amendment_of_another")
    fields, allowed = cast("list[str]", amends["fields"]), cast("list[str]", before["amendable"])
    unnamed = next((name for name in fields if name not in allowed), None)
    if unnamed is not None:
        return fail("amendment_not_allowed", field=unnamed)
    if "amount" in fields and not _is_lower(now.get("amount"), before.get("amount")):
        return fail("amendment_widens", what="the amount")
    is_asked = bool(before["required_approvers"])
    names = [*_KEPT, *(() if "amount" in fields else ("amount",))]
    names += ["requester_id", "requester_may_approve"] if is_asked else []
    changed = next((name for name in names if not equal(now.get(name), before.get(name))), None)
    changed = changed or next((name for name in ("inputs_hash", "entries_hash") if (name in now) is not (name in before)), None)
    if changed is not None:
        return fail("amendment_not_allowed", field=changed)
    if _asks_fewer(now, before) or cast("JsonObject", given["decided_by"])["kind"] != "people":
        return fail("amendment_widens", what="who has to approve")
    if str(now["created_at"]) < str(before["created_at"]):
        return fail("amendment_of_another")
    approvals = cast("list[JsonObject]", given["approvals"])
    signers = [one["approver_id"] for one in approvals if one["type"] == "passkey"]
    is_signed = (is_asked and amends["by"] in signers) if "by" in amends else not is_asked
    return passed(describe_amendment(given)) if is_signed else fail("amender_absent")


def is_shown_before(request: JsonObject, original: JsonObject, content: JsonObject, before: Json) -> bool:
    """With the content of both pages: other values only where a detail is named."""
    if not is_object(before):
        return False
    old, now, groups = before.get("context"), content["context"], content["group_names"]
    if not is_object(old) or not is_object(now) or not is_list(groups):
        return False
    fields = cast("list[str]", cast("JsonObject", request["amends"])["fields"])
    names = sorted(name[len("context.") :] for name in fields if name != "amount")
    if sorted(old) != names or not all(name in now for name in names):
        return False
    count = len(cast("list[Json]", original["required_approvers"]))
    changes: JsonObject = {"context": {**now, **old}, "context_salt": before.get("context_salt"), "group_names": groups[:count]}
    return is_shown_content(original, {**content, **changes})


def are_questions(given: JsonObject, salt: Json, questions: Json) -> bool:
    """``questions``: as the file has them; none is the same as an empty list."""
    if questions is None or questions == []:
        return "questions_hash" not in given
    return given.get("questions_hash") == canonical_hash([salt, questions])
