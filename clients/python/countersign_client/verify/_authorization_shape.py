"""The exact shape of a ``human_authorization``: every field is known, typed and bounded before anything is computed from it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

from .._iso_time import is_time
from .._json import MAX_SAFE_INTEGER, Json, JsonObject, is_list, is_object
from ._bytes import base64_decode, base64_url_decode, parse_field_element, parse_word, word_hex
from ._reading import is_count

Rule = Callable[[Any], bool]


def _matches(pattern: str) -> Rule:
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None


def _text(longest: int) -> Rule:
    return lambda value: isinstance(value, str) and 1 <= len(value) <= longest


def _one_of(*values: object) -> Rule:
    return lambda value: any(type(one) is type(value) and one == value for one in values)


def _list_of(rule: Rule, least: int, most: int) -> Rule:
    return lambda value: is_list(value) and least <= len(value) <= most and all(map(rule, value))


def _fields(required: dict[str, Rule], optional: dict[str, Rule] | None = None) -> Rule:
    """Exactly these fields; the optional ones may be left out."""
    rules = {**required, **(optional or {})}

    def holds(value: Json) -> bool:
        if not is_object(value) or not set(required) <= set(value) <= set(rules):
            return False
        return all(rules[name](member) for name, member in value.items())

    return holds


def _canonical(parse: Callable[[str], int | None]) -> Rule:
    def holds(value: Json) -> bool:
        parsed = parse(value) if isinstance(value, str) else None
        return parsed is not None and word_hex(parsed) == value

    return holds


def _or_none(rule: Rule) -> Rule:
    return lambda value: value is None or rule(value)


_word, _element = _canonical(parse_word), _canonical(parse_field_element)
_sha256_hex = _matches(r"[0-9a-f]{64}")
is_uuid = _matches(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_amount_value = _matches(r"(0|[1-9][0-9]{0,13})(\.[0-9]{0,3}[1-9])?")
_currency = _matches(r"[A-Z]{3}")


def _whole(least: int, most: int) -> Rule:
    return lambda value: is_count(value) and least <= value <= most


def _is_details(value: Json) -> bool:
    """Names of 1 to 64 characters with values of up to 1,024."""
    if not is_object(value) or len(value) > 32:
        return False
    return all(_text(256)(name) and (detail == "" or _text(4096)(detail)) for name, detail in value.items())


_terms = _fields(
    {"max_calls": _whole(1, 10_000), "expires_at": is_time},
    {
        "tools": _list_of(_text(256), 1, 20),
        "actions": _list_of(_text(2000), 1, 20),
        "max_amount": _amount_value,
        "max_budget": _amount_value,
        "currency": _currency,
        "context": _is_details,
        "derived": _fields(
            {
                "derivation": _sha256_hex,
                "details": _list_of(_text(256), 0, 32),
                "hours": _fields({"from": _whole(0, 23), "to": _whole(0, 23)}),
            }
        ),
    },
)


def _is_grant(value: Json) -> bool:
    """Terms cover something by name, and say the currency exactly if they say an amount."""
    if not _terms(value):
        return False
    names = set(cast("JsonObject", value))
    return bool(names & {"tools", "actions"}) and bool(names & {"max_amount", "max_budget"}) == ("currency" in names)


def _count_bytes(value: Json, decode: Callable[[str], bytes]) -> int | None:
    """None unless the text is the bytes' one spelling."""
    try:
        return len(decode(value)) if isinstance(value, str) else None
    except ValueError:
        return None


def _base64_url(longest: int) -> Rule:
    return _matches(f"[A-Za-z0-9_-]{{1,{longest}}}")


def _bytes_within(most: int) -> Rule:
    return lambda value: 1 <= (_count_bytes(value, base64_url_decode) or 0) <= most


def is_salt(value: Json) -> bool:
    return _count_bytes(value, base64_decode) == 16


_is_proof = _list_of(lambda value: _count_bytes(value, base64_decode) == 32, 0, 20)


def _is_rising(value: Json) -> bool:
    """Hashes in order, each once."""
    if not _list_of(_sha256_hex, 0, 100)(value):
        return False
    hashes = cast("list[str]", value)
    return hashes == sorted(set(hashes))


_head = _fields(
    {
        "organization": is_uuid,
        "number": _whole(1, MAX_SAFE_INTEGER),
        "previous": _or_none(_sha256_hex),
        "size": is_count,
        "root": _sha256_hex,
        "changed_at": is_time,
    }
)
def _is_deputyship(value: Json) -> bool:
    if not _fields({"approver_id": is_uuid, "from": is_time, "until": is_time})(value):
        return False
    given = cast("dict[str, str]", value)
    return given["from"] < given["until"]


_roster_entry = _fields(
    {
        "approver_id": is_uuid,
        "credential_id": _bytes_within(1_023),
        "public_key": _bytes_within(1322),
        "groups": _is_rising,
        "since": is_time,
        "salt": is_salt,
    },
    {"deputy_for": _is_deputyship},
)


def _is_roster_head(value: Json) -> bool:
    """Only the first follows none."""
    if not _head(value):
        return False
    head = cast("JsonObject", value)
    return (head["number"] == 1) is (head["previous"] is None)


def _is_required_approvers(value: Json) -> bool:
    if not _list_of(_fields({"group": is_uuid, "count": _whole(1, 10)}), 0, 5)(value):
        return False
    rows = cast("list[JsonObject]", value)
    return len({str(row["group"]) for row in rows}) == len(rows)


def _is_field_list(value: Json) -> bool:
    """``amount`` and the details, each once."""
    if not _list_of(_text(512), 1, 33)(value):
        return False
    names = cast("list[str]", value)
    rises = all(utf16(one) < utf16(other) for one, other in zip(names, names[1:], strict=False))
    return rises and all(name == "amount" or (name.startswith("context.") and len(name) > 8) for name in names)


_request = _fields(
    {
        "request_id": _text(128),
        "origin": _text(2048),
        "organization": _text(128),
        "agent_slug": _text(64),
        "agent_public_key": lambda value: value is None or _text(64)(value),
        "action": _text(1000),
        "context_hash": _sha256_hex,
        "required_level": _one_of("none", "device", "orb"),
        "approvals_required": _whole(1, 10),
        "required_approvers": _is_required_approvers,
        "requester_may_approve": _one_of(True, False),
        "grant": _or_none(_is_grant),
        "created_at": is_time,
        "expires_at": is_time,
        "salt": _text(64),
    },
    {
        "inputs_hash": _text(128),
        "entries_hash": _sha256_hex,
        "amendable": _is_field_list,
        "amends": _fields({"request_hash": _sha256_hex, "fields": _is_field_list}, {"by": is_uuid}),
        "details": _fields({"complete": _one_of(True, False), "types": _matches(r"[snb-]{0,32}")}),
        "tool": _text(256),
        "amount": _fields({"value": _amount_value, "currency": _currency}),
        "usable_for_seconds": _whole(60, 2_592_000),
        "requester_id": is_uuid,
    },
)
_binding = _fields(
    {
        "request_hash": _sha256_hex,
        "world_action": _matches(r"authz-[a-z2-7]{26}"),
        "signal": _matches(r"0x[0-9a-f]{64}"),
        "signal_hash": _element,
    }
)
_point = _list_of(_element, 2, 2)
_anchor = _fields(
    {
        "chain_id": is_count,
        "block_number": is_count,
        "block_hash": _word,
        "registry": _matches(r"0x[0-9a-f]{40}"),
        "root": _element,
    },
    {"issuer_public_key": _point, "oprf_public_key": _point},
)
_decided_by_kinds: tuple[Rule, ...] = (
    _fields({"kind": _one_of("people")}),
    _fields(
        {
            "kind": _one_of("grant"),
            "request_hash": _sha256_hex,
            "authorization_hash": _sha256_hex,
            "use": _whole(1, 10_000),
            "of": _whole(1, 10_000),
            "spent": _or_none(_amount_value),
            "budget": _or_none(_amount_value),
            "currency": _or_none(_currency),
        }
    ),
    _fields(
        {
            "kind": _one_of("rule"),
            "ruleset_hash": _sha256_hex,
            "policy_ids": _list_of(_text(256), 1, 500),
            "context_hash": _sha256_hex,
        }
    ),
)
_environment = _one_of("production", "staging", "local")
_common: dict[str, Rule] = {
    "type": _one_of("world_id"),
    "environment": _environment,
    "app_id": _text(128),
    "rp_id": _text(128),
    "nonce": _element,
    "nullifier_hash": _element,
    "merkle_root": _element,
    "verified_at": is_time,
    "verified_by": _list_of(_one_of("groth16-local", "world-portal-v4", "world-chain"), 1, 3),
}
_passkey = _fields(
    {
        "type": _one_of("passkey"),
        "approver_id": is_uuid,
        "credential_public_key": _base64_url(1763),
        "authenticator_data": _base64_url(4096),
        "client_data_json": _base64_url(8192),
        "signature": _base64_url(3227),
        "verified_at": is_time,
        "roster": _fields(
            {
                "head": _is_roster_head,
                "entry": _roster_entry,
                "index": is_count,
                "proof": _is_proof,
            }
        ),
        "groups": _list_of(_fields({"group": is_uuid, "salt": is_salt}), 1, 5),
    },
    {
        "nullifier_hash": _element,
        "deputy_for": is_uuid,
        "list": _fields({"index": _whole(0, 19), "size": _whole(2, 20), "proof": _is_proof}),
    },
)
# One approval, by its kind.
_approval_kinds: tuple[Rule, ...] = (
    _fields(
        {
            "protocol_version": _one_of("3.0"),
            "level": _one_of("device", "orb"),
            "proof": _matches(r"0x[0-9a-f]{512}"),
            **_common,
        },
        {"anchor": _anchor},
    ),
    _fields(
        {
            "protocol_version": _one_of("4.0"),
            "level": _one_of("proof_of_human"),
            "proof": _list_of(_word, 5, 5),
            "issuer_schema_id": is_count,
            "expires_at_min": is_count,
            **_common,
        },
        {"anchor": _anchor},
    ),
    _passkey,
)
_is_shaped = _fields(
    {
        "type": _one_of("human_authorization"),
        "version": _one_of(1, 2),
        "request": _request,
        "binding": _binding,
        "decided_by": lambda value: any(kind(value) for kind in _decided_by_kinds),
        "approvals": _list_of(lambda value: any(kind(value) for kind in _approval_kinds), 0, 20),
        "environment": _environment,
        "approved_at": is_time,
        "usable_until": _or_none(is_time),
        "key_id": _matches(r"[0-9a-f]{16}"),
        "signature": lambda value: isinstance(value, str) and len(value) == 88,
    },
    {"log": is_object, "original_request": _request, "questions_hash": _sha256_hex},
)

_SECOND = ("details", "entries_hash", "amendable", "amends")


def is_authorization(value: Json) -> bool:
    """Version 2 exactly if the request or an approval has a field of version 2."""
    if not _is_shaped(value):
        return False
    given = cast("JsonObject", value)
    request = cast("JsonObject", given["request"])
    approvals = cast("list[JsonObject]", given["approvals"])
    is_second = "questions_hash" in given or any(name in request for name in _SECOND)
    is_second = is_second or (is_object(request["grant"]) and "derived" in request["grant"])
    is_second = is_second or any("list" in one or "deputy_for" in one for one in approvals)
    return given["version"] == (2 if is_second else 1) and _is_chain(request, given.get("original_request"))


def _is_chain(now: JsonObject, before: Json) -> bool:
    """A counter-offer comes with the request that it changes, and ends the chain."""
    if not is_object(before):
        return "amends" not in now
    return "amends" in now and "amendable" not in now and "amendable" in before and "amends" not in before


def utf16(name: str) -> bytes:
    """Order of names in RFC 8785."""
    return name.encode("utf-16-be", "surrogatepass")


_NUMBER = re.compile(r"0|-?([1-9][0-9]{0,13}(\.[0-9]{0,3}[1-9])?|0\.[0-9]{0,3}[1-9])")


def has_types(request: JsonObject, context: Json) -> bool:
    """True if the request's types can be those of these details, in the order of RFC 8785."""
    if "details" not in request:
        return True
    types = cast("str", cast("JsonObject", request["details"])["types"])
    if not is_object(context) or len(context) != len(types):
        return False
    texts = [context[name] for name in sorted(context, key=utf16)]
    return all(_has_type(letter, text) for letter, text in zip(types, texts, strict=True))


def _has_type(letter: str, text: Json) -> bool:
    if letter == "-":
        return True
    if not isinstance(text, str):
        return False
    if letter == "n":
        return _NUMBER.fullmatch(text) is not None
    return letter == "s" or text in ("true", "false")
