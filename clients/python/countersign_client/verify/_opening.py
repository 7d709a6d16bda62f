"""Parts of an approval that its owner opens for an auditor: entries of what the page showed, and the approvers' names.

As lib/protocol/approval/opening.ts: the same shapes, the same reasons.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from .._facts import Opened
from .._json import Json, JsonObject, canonical_hash, is_list, is_object
from ._authorization_shape import is_authorization, is_salt, is_uuid
from ._outcome import Check, fail, passed

_KINDS = ("context", "name", "group", "requested_by")
_CONTENT = ("context", "context_salt", "agent_name", "organization_name", "group_names", "requested_by")
_MAX_ENTRIES = 64
_MAX_APPROVERS = 20
_MAX_NAME = 200


@dataclass(frozen=True)
class _Opening:
    request_hash: str
    approvers: list[JsonObject]
    content: JsonObject | None
    entries: list[JsonObject] = field(default_factory=list["JsonObject"])
    digests: list[str] = field(default_factory=list[str])


def _is_hash(value: Json) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{64}", value) is not None


def _has_exactly(value: Json, *names: str) -> bool:
    return is_object(value) and sorted(value) == sorted(names)


def _is_entry(value: Json) -> bool:
    if not _has_exactly(value, "kind", "name", "value", "salt"):
        return False
    given = cast("JsonObject", value)
    return given["kind"] in _KINDS and isinstance(given["name"], str) and _is_hash(given["salt"])


def _is_approver(value: Json) -> bool:
    is_signed = _has_exactly(value, "approver_id", "name", "salt")
    if not is_signed and not _has_exactly(value, "approver_id", "name"):
        return False
    given = cast("JsonObject", value)
    name = given["name"]
    is_named = isinstance(name, str) and 1 <= len(name) <= _MAX_NAME
    return is_uuid(given["approver_id"]) and is_named and (not is_signed or is_salt(given["salt"]))


def _is_list_of(value: Json, maximum: int) -> bool:
    return is_list(value) and len(value) <= maximum


def _parse(value: Json) -> _Opening | None:
    common = ("type", "request_hash", "approvers")
    is_whole = _has_exactly(value, *common, "content")
    if not is_whole and not _has_exactly(value, *common, "entries", "digests"):
        return None
    given = cast("JsonObject", value)
    approvers = given["approvers"]
    if given["type"] != "opening" or not _is_hash(given["request_hash"]):
        return None
    if not _is_list_of(approvers, _MAX_APPROVERS) or not all(map(_is_approver, cast("list[Json]", approvers))):
        return None
    named, request_hash = cast("list[JsonObject]", approvers), str(given["request_hash"])
    if is_whole:
        content = given["content"]
        return _Opening(request_hash, named, cast("JsonObject", content)) if _has_exactly(content, *_CONTENT) else None
    entries, digests = given["entries"], given["digests"]
    if not _is_list_of(entries, _MAX_ENTRIES) or not all(map(_is_entry, cast("list[Json]", entries))):
        return None
    if not _is_list_of(digests, _MAX_ENTRIES) or not all(map(_is_hash, cast("list[Json]", digests))):
        return None
    hashes = cast("list[str]", digests)
    if hashes != sorted(set(hashes)):
        return None
    return _Opening(request_hash, named, None, cast("list[JsonObject]", entries), hashes)


def _list_entries(content: JsonObject) -> list[JsonObject]:
    def fields(kind: str, value: Json) -> list[JsonObject]:
        return [{"kind": kind, "name": name, "value": one} for name, one in value.items()] if is_object(value) else []

    groups = content["group_names"]
    names: JsonObject = {name: content[name] for name in ("agent_name", "organization_name")}
    return [
        *fields("context", content["context"]),
        *fields("name", names),
        *({"kind": "group", "name": str(at), "value": one} for at, one in enumerate(groups if is_list(groups) else [])),
        *fields("requested_by", content["requested_by"]),
    ]


def _digest(entry: JsonObject) -> str:
    return canonical_hash([entry["salt"], entry["kind"], entry["name"], entry["value"]])


def hash_entries(content: JsonObject) -> str:
    """The ``entries_hash`` of content that is shown as a whole."""
    salted = [
        {**entry, "salt": canonical_hash([content["context_salt"], entry["kind"], entry["name"]])}
        for entry in _list_entries(content)
    ]
    return canonical_hash(cast("list[Json]", sorted(map(_digest, salted))))


def is_shown_content(request: JsonObject, content: JsonObject) -> bool:
    names: JsonObject = {name: content[name] for name in ("agent_name", "organization_name", "group_names")}
    covered: list[Json] = [content["context_salt"], content["context"], names, content["requested_by"]]
    if canonical_hash(covered) != request["context_hash"]:
        return False
    return "entries_hash" not in request or hash_entries(content) == request["entries_hash"]


def _is_name_signed(named: JsonObject, approvals: list[JsonObject]) -> bool:
    """That the roster of the person's own approval commits to the name."""
    hashed = canonical_hash([named["salt"], "name", named["name"]])
    own = [one for one in approvals if one["type"] == "passkey" and one["approver_id"] == named["approver_id"]]
    entries = [cast("JsonObject", cast("JsonObject", one["roster"])["entry"]) for one in own]
    return any(hashed in cast("list[Json]", entry["groups"]) for entry in entries)


def check_opening(value: Json, given: JsonObject) -> Check:
    """``given``: the ``human_authorization`` beside it, whose own checks ran."""
    opening = _parse(value)
    if opening is None or not is_authorization(given):
        return fail("opening_malformed")
    request = cast("JsonObject", given["request"])
    if opening.request_hash != canonical_hash(request):
        return fail("opening_foreign")
    approvals = cast("list[JsonObject]", given["approvals"])
    ids = [one["approver_id"] for one in approvals if one["type"] == "passkey"]
    named = [one["approver_id"] for one in opening.approvers]
    if len(set(map(str, named))) != len(named) or any(one not in ids for one in named):
        return fail("opening_mismatch", what="an approver")
    if not all("salt" not in one or _is_name_signed(one, approvals) for one in opening.approvers):
        return fail("opening_mismatch", what="an approver's name")
    if opening.content is not None:
        if is_shown_content(request, opening.content):
            return passed("all that the approval page showed")
        return fail("opening_mismatch", what="the content")
    if "entries_hash" not in request:
        return fail("opening_unsupported")
    places = {(str(entry["kind"]), str(entry["name"])) for entry in opening.entries}
    is_signed = (
        canonical_hash(cast("list[Json]", opening.digests)) == request["entries_hash"]
        and len(places) == len(opening.entries)
        and all(_digest(entry) in opening.digests for entry in opening.entries)
    )
    if not is_signed:
        return fail("opening_mismatch", what="an entry")
    return passed(f"{len(opening.entries)} of {len(opening.digests)} entries as they were signed")


_PAYEES = re.compile(r"recipient|payee|beneficiary|creditor|receiver|supplier|vendor|merchant|\bto\b", re.ASCII)
_AMOUNTS = re.compile(r"amount|total|price|sum\b|cost|value|fee|budget|limit|currency|quantity", re.ASCII)
_ADDRESSES = re.compile(r"iban|account|wallet|address|e-?mail|domain|host")


_IGNORABLE = "\u115f\u1160\u3164\uffa0"
"""Letters that nobody sees: the others of Unicode's list are marks or controls."""


def _words(name: str) -> str:
    letters = unicodedata.normalize("NFKD", name)
    plain = "".join(one for one in letters if unicodedata.category(one)[0] not in "MC" and one not in _IGNORABLE)
    return re.sub(r"[_.\-/]+", " ", re.sub(r"([a-z])([A-Z])", r"\1 \2", plain)).lower()


def _find_payee(context: dict[str, str]) -> str | None:
    named = [(_words(name), text) for name, text in context.items()]
    payees = [(words, text) for words, text in named if _PAYEES.search(words) and not _AMOUNTS.search(words)]
    somebody = [text for words, text in payees if not _ADDRESSES.search(words)]
    return somebody[0] if somebody else payees[0][1] if payees else None


_BLANK = "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_RUN = (
    "command cmd commandline script argv chars input patch patchtext url",
    "filepath notebookpath targetfile absolutepath path",
    "query pattern subject title message prompt description dirpath directorypath",
)


def _find_call(request: Mapping[str, Any], context: dict[str, str]) -> str | None:
    """The detail that says what a hook's call ran, as lib/protocol/record/title.ts finds it."""
    if "tool" not in request or request["action"] != f"Use the tool {request['tool']}":
        return None
    given = {
        re.sub("[^A-Za-z]", "", re.sub(r" \([^\n\r\u2028\u2029]*\)\Z", "", name)).lower(): text
        for name, text in reversed(context.items())
        if text.strip(_BLANK)
    }
    return next((given[name] for names in _RUN for name in names.split() if name in given), None)


def read_opening(value: Json, given: JsonObject) -> Opened | None:
    """Facts in an opening that ``check_opening`` has passed."""
    opening = _parse(value)
    if opening is None or not is_authorization(given):
        return None
    entries = opening.entries if opening.content is None else _list_entries(opening.content)

    def texts(kind: str) -> dict[str, str]:
        return {
            str(one["name"]): str(one["value"])
            for one in entries
            if one["kind"] == kind and isinstance(one["value"], str)
        }

    required = cast("list[JsonObject]", cast("JsonObject", given["request"])["required_approvers"])
    groups = {
        str(group["group"]): texts("group")[str(at)] for at, group in enumerate(required) if str(at) in texts("group")
    }
    approvers = {
        str(one["approver_id"]): str(one["name"]) + ("" if "salt" in one else " (by the organization's own word)")
        for one in opening.approvers
    }
    context = texts("context")
    call = _find_call(cast("Mapping[str, Any]", given["request"]), context)
    return Opened(_find_payee(context), call, texts("requested_by").get("requester"), groups, approvers)
