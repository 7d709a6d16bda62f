"""Rules in an evidence pack: which version had a say over which context (nothing is evaluated again, which takes Cedar), and
the rosters and rules that approvals rest on, each in the log before them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from .._iso_time import is_time, parse_time
from .._json import Json, JsonObject, canonical_hash, equal, is_list, is_object, parse_canonical
from ..errors import UnreadableError
from ._bytes import sha256
from ._outcome import Check, counted, fail, passed, skip
from ._pack_entry import Entry, authorization_of
from ._reading import is_count, require_text
from ._statement import ROSTER, RULESET, is_hash, read_subject, statement_of
from ._sum import Listed
from ._trust import Trust

_HOUR_MS = 3_600_000
_SCHEMA = """entity Agent = {
  name?: String,
  key_registered: Bool,
  code_hash_known: Bool,
};
entity Tool;
entity Details tags String;
action act, act_approved appliesTo {
  principal: Agent,
  resource: Tool,
  context: {
    action: String,
    amount?: {
      value: decimal,
      currency: String,
      spent_today: decimal,
      total_today: decimal,
    },
    details: Details,
    requester?: String,
    hour_utc: Long,
    weekday_utc: Long,
    uses_today: Long,
    environment: String,
  },
};
"""
_TAGS = "entity Longs tags Long;\nentity Bools tags Bool;\nentity Decimals tags decimal;\n"
_TYPED = """    details_complete: Bool,
    typed: {
      strings: Details,
      longs: Longs,
      bools: Bools,
      decimals: Decimals,
    },
"""
_TYPED_SCHEMA = _SCHEMA.replace("action act,", f"{_TAGS}action act,").replace("    requester?", f"{_TYPED}    requester?")
_COUNTED_SCHEMA = _TYPED_SCHEMA.replace("    typed:", "    details_count: Long,\n    typed:")


def _hash_with(schema: str, text: str) -> str:
    return canonical_hash({"schema": schema, "text": text})


def ruleset_hash(text: str) -> str:
    """Over the text and the smallest schema that it needs, so that rules of 1.0.0 keep their hash."""
    if re.search(r"\bdetails_count\b", text, re.ASCII):
        return _hash_with(_COUNTED_SCHEMA, text)
    is_typed = re.search(r"\b(?:details_complete|typed)\b", text, re.ASCII)
    return _hash_with(_TYPED_SCHEMA if is_typed else _SCHEMA, text)


def read_rules_text(given: JsonObject) -> str:
    version = given.get("rules")
    version = version if is_object(version) else given
    if require_text(version, "fallback") not in ("ask", "deny"):
        raise UnreadableError("fallback: expected ask or deny")
    return require_text(version, "text")


@dataclass(frozen=True)
class Ruled:
    """A request that rules had a say in, beside its decision."""

    file: str
    version: str
    """The file of the rules."""
    decision: JsonObject | None
    problem: str = ""


def read_ruled(entry: Entry, given: JsonObject) -> Ruled | str | None:
    """``unnamed`` or ``hidden`` for a decision of which the file doesn't show it; None if rules had no say."""
    rules = given.get("rules")
    if rules is None:
        if not entry.is_decision:
            return None
        by = cast("JsonObject", (authorization_of(given) or {"decided_by": {}})["decided_by"])
        return "unnamed" if by.get("kind") == "rule" else "hidden" if entry.is_hidden else None
    number = rules.get("version") if is_object(rules) else None
    file = f"rules/{number:012}.json" if isinstance(number, int) else "rules/"
    try:
        return Ruled(entry.file, file, _read_replayed(given))
    except UnreadableError as error:
        return Ruled(entry.file, file, None, str(error))


def _read_replayed(given: JsonObject) -> JsonObject:
    request, rules = given.get("request"), given.get("rules")
    asked = request if is_object(request) else {}
    if not is_object(rules):
        raise UnreadableError("the decision has no rules: save it with the owner's key, if rules were on")
    context = rules.get("context")
    if not is_object(context) or not is_object(context.get("agent")) or not is_list(rules.get("policy_ids")):
        raise UnreadableError("rules: what they were evaluated over is missing or erased")
    for name in ("ruleset_hash", "context_hash", "decision", "reason"):
        require_text(rules, name)
    tool, amount = asked.get("tool"), asked.get("amount")
    by, authorization = given.get("decided_by"), given.get("human_authorization")
    texts: JsonObject = {name: require_text(asked, name) for name in ("agent_slug", "action", "created_at")}
    if not is_time(texts["created_at"]):
        raise UnreadableError("created_at: expected a time")
    return {
        **texts,
        "tool": tool if isinstance(tool, str) else None,
        "amount": amount if is_object(amount) else None,
        "decided_by": by if is_object(by) else None,
        "signed_by": authorization.get("decided_by") if is_object(authorization) else None,
        "is_signed": is_object(authorization),
        "rules": rules,
    }


def _pick(value: JsonObject, *names: str) -> JsonObject:
    return {name: value[name] for name in names if name in value}


def _find_other_request(decision: JsonObject, context: JsonObject) -> str | None:
    """The fact in which the context is another request's."""
    agent, amount = cast("JsonObject", context["agent"]), context.get("amount")
    created = parse_time(str(decision["created_at"]))
    # 1970 began on a Thursday.
    hour, day = int(created // _HOUR_MS % 24), int(created // (24 * _HOUR_MS) + 3) % 7 + 1
    shown: JsonObject = {
        "agent": _pick(agent, "slug"),
        "action": _pick(context, "action"),
        "tool": _pick(context, "tool"),
        "amount": _pick(amount, "value", "currency") if is_object(amount) else amount if "amount" in context else {},
        "time": _pick(context, "hour_utc", "weekday_utc"),
    }
    asked: JsonObject = {
        "agent": {"slug": decision["agent_slug"]},
        "action": {"action": decision["action"]},
        "tool": {"tool": decision["tool"]},
        "amount": decision["amount"],
        "time": {"hour_utc": hour, "weekday_utc": day},
    }
    return next((name for name in asked if not equal(shown[name], asked[name])), None)


def _find_other_decider(decision: JsonObject, rules: JsonObject) -> str | None:
    by = decision["decided_by"]
    kind = by.get("kind") if is_object(by) else None
    if decision["is_signed"] and not equal(decision["signed_by"], by):
        return "the signed object names another decider than the record beside it"
    is_denied = not decision["is_signed"] and (rules.get("mode"), rules["decision"]) == ("enforce", "deny")
    if is_denied and kind not in ("rule", "freeze"):
        return "the rules denied this, and the record beside them names another decider"
    named = {"kind": "rule", **_pick(rules, "ruleset_hash", "policy_ids", "context_hash")}
    if kind == "rule" and not equal(by, named):
        return "the decision names other rules than the record beside it"
    return None


def _find_mismatch(ruled: Ruled, text: str) -> str | None:
    decision = ruled.decision
    if decision is None:
        return ruled.problem
    rules = cast("JsonObject", decision["rules"])
    context = cast("JsonObject", rules["context"])
    # 1.0.0 took its schema for every text.
    if rules["ruleset_hash"] not in (ruleset_hash(text), _hash_with(_SCHEMA, text)):
        return f"{ruled.file}: ruleset: these rules have another hash than the decision names"
    if canonical_hash(context) != rules["context_hash"]:
        return f"{ruled.file}: context: the context is not the one whose hash is recorded"
    other = _find_other_request(decision, context)
    if other is not None:
        return f"{ruled.file}: request: the context is of another {other}"
    decider = _find_other_decider(decision, rules)
    return None if decider is None else f"{ruled.file}: object: {decider}"


def judge_ruled(found: Sequence[Ruled | str | None], names: Sequence[str], read: Callable[[str], JsonObject]) -> Check:
    """``names``: files of rules in the pack, which ``read`` reads."""
    ruled = [one for one in found if isinstance(one, Ruled)]
    used = {one.version for one in ruled}
    # A version that no decision names is there for the derivation of a rule that it added.
    foreign = next((name for name in names if name not in used and "derivation" not in read(name)), None)
    if foreign is not None:
        return fail("file_unknown", file=foreign)
    held = [one for one in ruled if one.version in names]
    for one in held:
        problem = one.problem or _find_mismatch(one, read_rules_text(read(one.version)))
        if problem:
            return fail("rules_mismatch", problem=problem)
    missing = found.count("unnamed") + len(ruled) - len(held)
    if missing:
        return skip("rules_missing", decisions=counted(missing, "decision"))
    if "hidden" in found:
        return skip("rules_content_absent", decisions=counted(found.count("hidden"), "decision"))
    if not ruled:
        return passed("nothing that rules were asked about")
    return passed(f"the rules and contexts are those of {counted(len(ruled), 'decision')}; verify.mjs pack --cedar evaluates them again")


@dataclass(frozen=True)
class Ground:
    """A roster or rules that an approval rests on."""

    number: int
    what: str
    name: tuple[str, str]
    """Owner, by a hash, and rules, by theirs."""
    origin: Json
    index: Json


def _name_organization(kind: str, organization: Json) -> str:
    return sha256(f"countersign {kind} v1\n{organization}".encode()).hex()


def read_grounds(entry: Entry, given: JsonObject) -> list[Ground]:
    found = authorization_of(given)
    if found is None:
        return []
    request, by, log = (cast("JsonObject", found.get(name) or {}) for name in ("request", "decided_by", "log"))
    place = (log.get("origin"), log.get("index"))
    passkeys = [one for one in cast("list[JsonObject]", found["approvals"]) if one["type"] == "passkey"]
    heads = [cast("JsonObject", cast("JsonObject", one["roster"])["head"]) for one in passkeys]
    rosters = [(_name_organization("roster", head["organization"]), canonical_hash(head)) for head in heads]
    rules = [(_name_organization("rules", request["organization"]), str(by["ruleset_hash"]))] if by["kind"] == "rule" else []
    return [
        *(Ground(entry.sequence, "a roster", name, *place) for name in rosters),
        *(Ground(entry.sequence, "rules", name, *place) for name in rules),
    ]


def _parse_roster(statement: JsonObject, predicate: JsonObject) -> tuple[str, str] | None:
    number, previous, digest = predicate.get("number"), predicate.get("previous"), read_subject(statement)
    if set(predicate) != {"number", "previous", "changed_at", "organization", "key_id"}:
        return None
    is_follower = is_count(number) and cast("int", number) > 1 and is_hash(previous)
    is_first = number == 1 and not isinstance(number, bool) and previous is None
    is_typed = is_time(predicate["changed_at"]) and is_hash(predicate["organization"]) and is_hash(digest)
    key_id = predicate["key_id"]
    is_keyed = isinstance(key_id, str) and re.fullmatch("[0-9a-f]{16}", key_id) is not None
    own = statement_of(ROSTER, "approver-roster", str(digest), predicate)
    is_whole = (is_first or is_follower) and is_typed and is_keyed and equal(own, statement)
    return (str(predicate["organization"]), str(digest)) if is_whole else None


def _name_statement(payload: bytes) -> tuple[str, str] | None:
    """Roster or enforced rules that a statement logs, and their owner."""
    statement = parse_canonical(payload) or {}
    predicate, kind = statement.get("predicate"), statement.get("predicateType")
    if not is_object(predicate):
        return None
    if kind == ROSTER:
        return _parse_roster(statement, predicate)
    is_enforced = kind == RULESET and predicate.get("mode") == "enforce"
    return (str(predicate.get("organization")), str(read_subject(statement))) if is_enforced else None


def judge_grounds(grounds: Sequence[Ground], listed: Sequence[Listed] | Check, trust: Trust) -> Check:
    """Otherwise a service could invent an approver, and nobody who watches the log would notice."""
    if isinstance(listed, Check):
        return listed
    logged = dict[tuple[str, str], list[Listed]]()
    for one in listed:
        name = _name_statement(one.statement.payload) if one.kind in (ROSTER, RULESET) else None
        if name is not None and one.statement.find_maker(trust) is not None:
            logged.setdefault(name, []).append(one)
    for ground in grounds:
        index = ground.index if isinstance(ground.index, int) else -1
        if not any(one.origin != ground.origin or one.index < index for one in logged.get(ground.name, [])):
            return fail("ground_not_logged", number=ground.number, what=ground.what)
    what = counted(len({ground.name for ground in grounds}), "roster or version of rules", "rosters and versions of rules")
    return passed(f"{what}, each in the log before the approvals that rest on it")


def list_derived(listed: Sequence[Listed] | Check, trust: Trust) -> set[tuple[str, str]]:
    """Hashes of rules and of the derivation that they were logged with."""
    found = set[tuple[str, str]]()
    for one in listed if not isinstance(listed, Check) else ():
        statement = parse_canonical(one.statement.payload) if one.kind == RULESET else None
        predicate = None if statement is None else statement.get("predicate")
        derivation = predicate.get("derivation") if is_object(predicate) else None
        if statement is not None and isinstance(derivation, str) and one.statement.find_maker(trust) is not None:
            found.add((str(read_subject(statement)), derivation))
    return found

