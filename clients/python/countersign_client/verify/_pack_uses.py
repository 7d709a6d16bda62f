"""Uses of standing approvals in an evidence pack: each within its terms, numbered as they can only be if none is missing or
counted twice, none approved or claimed after the end. And of all approvals: each backs one attestation at most, and none
that was taken back does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from .._iso_time import parse_time
from .._json import Json, JsonObject, canonical_hash, is_object
from ._outcome import Check, counted, fail, passed, skip
from ._pack_entry import CHANGE_FILE, Entry, authorization_of
from ._statement import parse_action, parse_change

_SLACK_MS = 2_000
"""A claim is noted a moment after its approval was looked at."""
_READ = ("request", "binding", "decided_by", "environment", "approved_at", "usable_until")


@dataclass(frozen=True)
class Revocation:
    request_hash: str
    at: str
    request_id: Json


@dataclass(frozen=True)
class UseFacts:
    file: str
    number: int
    is_decision: bool
    unread: str | None
    """Nobody can read it: it may be a use (``use``), or is none (``other``)."""
    revoked: Revocation | None = None
    approval: JsonObject | None = None
    """Decided here, or used."""
    approval_hash: str = ""
    timestamp: str = ""
    claimed_at: str | None = None

    @property
    def request(self) -> JsonObject:
        return cast("JsonObject", (self.approval or {})["request"])

    @property
    def request_hash(self) -> str:
        return str(cast("JsonObject", (self.approval or {})["binding"])["request_hash"])

    @property
    def by(self) -> JsonObject:
        return cast("JsonObject", (self.approval or {})["decided_by"])


def read_use(entry: Entry, given: JsonObject) -> UseFacts:
    """Reads nothing but the place of an entry outside the period."""
    if not entry.is_inside:
        return UseFacts(entry.file, entry.sequence, entry.is_decision, None)
    unread = None
    if entry.is_hidden:
        unread = "use" if entry.is_decision and entry.decision in (None, "approved") else "other"
    payload = given.get("payload")
    data = payload.encode(errors="replace") if isinstance(payload, str) else None
    revoked = None
    if data is not None and given.get("type") == CHANGE_FILE:
        change = parse_change(data)
        if change is not None and change["request_hash"] is not None:
            revoked = Revocation(str(change["request_hash"]), str(change["changed_at"]), given.get("request_id"))
    approval = authorization_of(given)
    if approval is None:
        return UseFacts(entry.file, entry.sequence, entry.is_decision, unread, revoked)
    action = None if entry.is_decision or data is None else parse_action(data)
    stopped = None if action is None else action.predicate.get("approval_stopped")
    return UseFacts(
        entry.file,
        entry.sequence,
        entry.is_decision,
        unread,
        revoked,
        {name: approval[name] for name in _READ},
        canonical_hash({name: value for name, value in approval.items() if name != "log"}),
        "" if action is None else action.text("timestamp"),
        str(stopped["claimed_at"]) if is_object(stopped) else None,
    )


def _units(value: Json) -> int:
    """A canonical amount in units of 10⁻⁴."""
    whole, _, fraction = str(value or "0").partition(".")
    return int(whole) * 10_000 + int(fraction.ljust(4, "0"))


def _amount_of(use: UseFacts) -> int:
    amount = use.request.get("amount")
    return _units(amount["value"]) if is_object(amount) else 0


def _find_out_of_scope(terms: JsonObject, request: JsonObject, at: str) -> str | None:
    """The context is hidden: only the service has compared it."""
    tools, actions = terms.get("tools"), terms.get("actions")
    if parse_time(at) >= parse_time(str(terms["expires_at"])):
        return "expired"
    if tools is not None and request.get("tool") not in cast("list[Json]", tools):
        return "tool"
    action = str(request["action"])
    patterns = cast("list[str]", actions or [])
    if actions is not None and not any(action.startswith(one[:-1]) if one.endswith("*") else action == one for one in patterns):
        return "action"
    derived, details = terms.get("derived"), request.get("details")
    if is_object(derived):
        hours = cast("dict[str, int]", derived["hours"])
        if not (details["complete"] if is_object(details) else "inputs_hash" not in request):
            return "details"
        if not hours["from"] <= int(at[11:13]) <= hours["to"]:
            return "hours"
    amount, most = request.get("amount"), terms.get("max_amount")
    if most is None or not is_object(amount):
        return None if most is None and amount is None else "amount_not_limited" if most is None else "amount_missing"
    if amount["currency"] != terms.get("currency"):
        return "currency"
    return "max_amount" if _units(amount["value"]) > _units(most) else None


def _find_beyond(use: UseFacts, grant: UseFacts) -> str | None:
    """The term that a use exceeds."""
    object_of, of_grant = use.approval or {}, grant.approval or {}
    request, granted = use.request, grant.request
    # A TEST approval covers only TEST uses.
    if of_grant["environment"] not in ("production", object_of["environment"]):
        return "environment"
    names = ("organization", "agent_public_key")
    is_own = all(request[name] == granted[name] for name in names)
    if not is_own or str(request["agent_slug"]).lower() != str(granted["agent_slug"]).lower():
        return "agent"
    at, until = str(object_of["approved_at"]), of_grant["usable_until"]
    if at < str(of_grant["approved_at"]) or (until is not None and at >= str(until)):
        return "time"
    terms, by = cast("JsonObject", granted["grant"]), use.by
    scope = _find_out_of_scope(terms, request, at)
    if scope is not None:
        return scope
    stated = (by["of"], by["budget"], by["currency"])
    return None if stated == (terms["max_calls"], terms.get("max_budget"), terms.get("currency")) else "limits"


def _find_end(grant: UseFacts, now: str) -> str | None:
    """When the standing approval ended; None if it was usable then."""
    until = (grant.approval or {})["usable_until"]
    expires = str(cast("JsonObject", grant.request["grant"])["expires_at"])
    end = min(expires, str(until or expires))
    return end if parse_time(end) <= parse_time(now) else None


class _Uses:
    def __init__(self, facts: Sequence[UseFacts]) -> None:
        self.attested = dict[str, UseFacts]()
        """Hash of the request → the attestation that its approval backs."""
        self.revoked = dict[str, tuple[int, str]]()
        """Hash of the request → number and time of the change that took its approval back."""
        self.grants = dict[str, UseFacts]()
        self.uses: dict[str, list[UseFacts]] = defaultdict(list)
        """Both by the hash of the standing approval."""
        self.single = set[str]()
        """Approvals that are no standing ones."""
        self.warnings = list[str]()
        self._names = dict[str, str]()
        """Hash of a request ↔ hash of its approval."""
        self._ids = dict[str, Json]()
        """Hash of a request → its id, and the id → the hash."""
        faults = [fault for one in facts for fault in self._add(one)]
        self.fault = faults[0] if faults else None

    def _is_other(self, one: str, other: str) -> bool:
        """True if one of the two was paired with something else before."""
        names = self._names
        differs = names.get(one, other) != other or names.get(other, one) != one
        names[one], names[other] = other, one
        return differs

    def _add(self, one: UseFacts) -> list[Check]:
        faults = list[Check]()
        if one.revoked is not None:
            digest, named = one.revoked.request_hash, one.revoked.request_id
            self.revoked[digest] = (one.number, one.revoked.at)
            is_other = self._ids.get(digest, named) != named
            if is_other or (isinstance(named, str) and self._ids.get(named, digest) != digest):
                faults.append(fail("entry_invalid", file=one.file, problem="request_id is another request's"))
        if one.approval is None:
            return faults
        digest = one.request_hash
        self._ids[digest] = one.request["request_id"]
        self._ids[str(one.request["request_id"])] = digest
        if not one.is_decision:
            earlier = self.attested.setdefault(digest, one)
            return faults if earlier is one else [*faults, fail("approval_reused", number=one.number, earlier=earlier.number)]
        pairs = [(digest, one.approval_hash)]
        if one.request["grant"] is None:
            self.single.add(one.approval_hash)
        else:
            self.grants[one.approval_hash] = one
        if one.by["kind"] == "grant":
            pairs.append((str(one.by["request_hash"]), str(one.by["authorization_hash"])))
            self.uses[str(one.by["authorization_hash"])].append(one)
        # A request has one approval.
        differing = [pair for pair in pairs if self._is_other(*pair)]
        return [*faults, fail("use_out_of_terms", number=one.number, what="approval")] if differing else faults

    def find_taken_back(self) -> Check | None:
        for digest, used in self.attested.items():
            if digest in self.revoked:
                return fail("approval_taken_back", number=used.number, revoked=self.revoked[digest][0])
        return None

    def _judge_attested(self, use: UseFacts, grant: UseFacts | None) -> Check | None:
        """Warns of a use that was attested after its standing approval ended; the fault of one that was claimed after."""
        used = self.attested.get(use.request_hash)
        if used is None:
            return None
        revoked_by, revoked_at = self.revoked.get(str(use.by["request_hash"]), (used.number, ""))
        over = None if grant is None else _find_end(grant, used.timestamp)
        is_revoked = revoked_by < used.number
        if is_revoked:
            self.warnings.append(f"number {used.number} was attested after number {revoked_by} took back its standing approval")
        elif over is not None:
            self.warnings.append(f"number {used.number} was attested after its standing approval ended at {over}")
        claimed = used.claimed_at
        if claimed is None:
            return None
        is_late = is_revoked and claimed > revoked_at
        is_late = is_late or (over is not None and parse_time(claimed) > parse_time(over) + _SLACK_MS)
        return fail("claimed_late", number=used.number, claimed=claimed) if is_late else None

    def judge(self, name: str, unread: Sequence[int]) -> Check | None:
        """Judges one standing approval. A use that lapsed gives its number back; one that is attested never does."""
        grant = self.grants.get(name)
        kept_uses = kept_spent = 0
        # All uses of a standing approval come after it in the record.
        before = None if grant is None else (0, 0)
        last = 0 if grant is None else grant.number
        for use in sorted(self.uses[name], key=lambda one: one.number):
            end = self.revoked.get(str(use.by["request_hash"]), (use.number, ""))[0]
            if end < use.number:
                return fail("approval_taken_back", number=use.number, revoked=end)
            late = self._judge_attested(use, grant)
            if late is not None:
                return late
            what = "approval" if name in self.single else None if grant is None else _find_beyond(use, grant)
            if what is not None:
                return fail("use_out_of_terms", number=use.number, what=what)
            count, own, spent = cast("int", use.by["use"]), _amount_of(use), _units(use.by["spent"])
            values = {"number": use.number, "use": count}
            if count <= kept_uses or (use.by["spent"] is not None and spent < kept_spent + own):
                return fail("use_repeated", **values)
            # Each decision in between that has no content may be another use.
            between = sum(last < one < use.number for one in unread)
            if before is not None and (count > before[0] + 1 + between or (between == 0 and spent > before[1] + own)):
                return fail("use_missing", **values)
            if use.request_hash in self.attested:
                kept_uses, kept_spent = kept_uses + 1, kept_spent + own
            before, last = (count, spent), use.number
        return None


def judge_uses(facts: Sequence[UseFacts]) -> tuple[Check, list[str]]:
    """The check, and what a reader should know though it passes."""
    found = _Uses(facts)
    unread = [one.number for one in facts if one.unread == "use"]
    fault = found.fault or found.find_taken_back()
    for name in list(found.uses):
        fault = fault or found.judge(name, unread)
    if fault is not None:
        return fault, []
    count = sum(map(len, found.uses.values()))
    unknown = sum(one.unread is not None for one in facts) if count else len(unread)
    if unknown:
        return skip("use_content_absent", entries=counted(unknown, "entry", "entries")), found.warnings
    if not count:
        return passed("no use of a standing approval"), []
    outside = sum(len(uses) for name, uses in found.uses.items() if name not in found.grants)
    if outside:
        return skip("use_terms_absent", uses=counted(outside, "use")), found.warnings
    return passed(f"{counted(count, 'use')} of standing approvals, each within its terms, none missing"), found.warnings
