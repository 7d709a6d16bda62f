"""The checks of enrolled approvers: whose passkeys signed what, who they are to the organization, and of which groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from .._json import Json, JsonObject, canonical_bytes, canonical_hash
from ._bytes import base64_decode, hex_decode
from ._note import leaf_hash, verify_inclusion
from ._origin import parse_relying_party
from ._outcome import Check, fail, passed, skip
from ._passkey import Branch, ExpectedAssertion, approval_challenge, branch_challenge, check_assertion


def _judge_each(passkeys: list[JsonObject], judge: Callable[[JsonObject], Check | None], sound: str) -> Check:
    """The first that fails, or else that can't be checked here."""
    if not passkeys:
        return skip("no_passkey")
    open_ones = [found for found in map(judge, passkeys) if found is not None]
    return next((one for one in open_ones if one.status == "fail"), open_ones[0] if open_ones else passed(sound))


def check_passkeys(request: JsonObject, request_hash: str, passkeys: list[JsonObject]) -> Check:
    """The challenge follows from the request itself, so that the assertion covers all of it."""
    if not passkeys:
        return skip("no_passkey")
    party = parse_relying_party(str(request["origin"]))
    if party is None:
        return fail("passkey_origin_mismatch")

    def judge(approval: JsonObject) -> Check | None:
        challenge = _find_challenge(request, request_hash, cast("JsonObject | None", approval.get("list")))
        if isinstance(challenge, Check):
            return challenge
        expected = ExpectedAssertion(challenge, party.origin, party.rp_id)
        names = ("authenticator_data", "client_data_json", "signature")
        assertion = {name: str(approval[name]) for name in names}
        found = check_assertion({"public_key": str(approval["credential_public_key"]), **assertion}, expected)
        return None if found.status == "pass" else found

    return _judge_each(passkeys, judge, "each passkey signed this request, on this site, unlocked by its user")


def _find_challenge(request: JsonObject, request_hash: str, given: JsonObject | None) -> bytes | Check:
    """Lists approve what a passkey alone decides, once: nothing by World ID, no standing approval and no counter-offer."""
    if given is None:
        return approval_challenge(request_hash, "approve")
    if request["required_level"] != "none" or request["grant"] is not None or "amends" in request:
        return fail("list_not_allowed")
    index, size = cast("int", given["index"]), cast("int", given["size"])
    return branch_challenge(request_hash, Branch(index, size, cast("list[str]", given["proof"])))


def _find_forked(heads: list[JsonObject]) -> JsonObject | None:
    """One that another contradicts: an organization has one roster of each number, and each names the one before."""
    hashes = [(cast("int", head["number"]), canonical_hash(head)) for head in heads]
    for head, (number, own) in zip(heads, hashes, strict=True):
        for other, digest in hashes:
            if (other == number and digest != own) or (other == number - 1 and digest != head["previous"]):
                return head
    return None


def check_roster(request: JsonObject, passkeys: list[JsonObject]) -> Check:
    """That the head is the one that the organization's log has is for its monitor; the service's signature vouches for it."""

    def judge(approval: JsonObject) -> Check | None:
        roster = cast("dict[str, JsonObject]", approval["roster"])
        head, entry = roster["head"], roster["entry"]
        if head["organization"] != request["organization"]:
            return fail("roster_of_another")
        deputyship = cast("dict[str, str] | None", entry.get("deputy_for")) or {}
        signed = (approval["approver_id"], approval["credential_public_key"], approval.get("deputy_for"))
        if (entry["approver_id"], entry["public_key"], deputyship.get("approver_id")) != signed:
            return fail("roster_entry_mismatch")
        if not str(entry["since"]) <= str(head["changed_at"]) <= str(approval["verified_at"]):
            return fail("roster_time_mismatch", time=head["changed_at"])
        if deputyship and not deputyship["from"] <= str(approval["verified_at"]) < deputyship["until"]:
            return fail("deputy_out_of_time", **{name: deputyship[name] for name in ("from", "until")})
        return _find_membership_fault(cast("JsonObject", approval["roster"]), approval["groups"])

    found = _judge_each(passkeys, judge, "each passkey is in the organization's roster, in the groups that it says")
    forked = _find_forked([cast("dict[str, JsonObject]", one["roster"])["head"] for one in passkeys])
    if forked is not None and found.status == "pass":
        return fail("roster_broken", number=forked["number"])
    return found


def _find_membership_fault(roster: JsonObject, groups: Json) -> Check | None:
    """That the entry is in the roster, and in each of the groups."""
    head, entry = cast("JsonObject", roster["head"]), cast("JsonObject", roster["entry"])
    siblings = [base64_decode(one) for one in cast("list[str]", roster["proof"])]
    index, size = cast("int", roster["index"]), cast("int", head["size"])
    if not verify_inclusion(leaf_hash(canonical_bytes(entry)), index, size, siblings, hex_decode(str(head["root"]))):
        return fail("roster_proof_invalid")
    hashes = [canonical_hash([one["salt"], one["group"]]) for one in cast("list[JsonObject]", groups)]
    is_in = set(hashes) <= set(cast("list[str]", entry["groups"]))
    return None if is_in else fail("roster_group_mismatch")


def check_quorum(request: JsonObject, kind: Json, passkeys: list[JsonObject]) -> Check:
    """Checks that the required people approved, each once and for one group; the requester only if that was allowed."""
    required = cast("list[JsonObject]", request["required_approvers"])
    if not required:
        return skip("no_group_required")
    if kind != "people":
        return skip("nobody_asked")
    deputies = [one for one in passkeys if "deputy_for" in one]
    replaced = [str(one["deputy_for"]) for one in deputies]
    # A deputy counts in the place of another: neither can count again.
    people = [str(one["approver_id"]) for one in passkeys] + replaced
    if len(set(people)) != len(people):
        return fail("approver_repeated")
    if request.get("requester_id") in [*replaced, *(one["approver_id"] for one in deputies)]:
        return fail("deputy_of_requester")
    if not request["requester_may_approve"] and request.get("requester_id") in people:
        return fail("requester_counted")
    wanted = [(str(one["group"]), cast("int", one["count"])) for one in required]
    groups = [{str(one["group"]) for one in cast("list[JsonObject]", approval["groups"])} for approval in passkeys]
    for (group, count), given in zip(wanted, _fill_places(wanted, groups), strict=True):
        if given != count:
            return fail("group_not_enough", given=given, required=count, group=group)
    return passed(", ".join(f"{count} of group {group}" for group, count in wanted))


def _fill_places(wanted: list[tuple[str, int]], people: list[set[str]]) -> list[int]:
    """Most places of each group that the people can fill together: an augmenting path for each person (Kuhn)."""
    places = [index for index, (_, count) in enumerate(wanted) for _ in range(count)]
    holders: dict[int, int] = {}

    def seat(person: int, tried: set[int]) -> bool:
        for place, index in enumerate(places):
            if place in tried or wanted[index][0] not in people[person]:
                continue
            tried.add(place)
            holder = holders.get(place)
            if holder is None or seat(holder, tried):
                holders[place] = person
                return True
        return False

    for person in range(len(people)):
        seat(person, set())
    return [sum(places[place] == index for place in holders) for index in range(len(wanted))]
