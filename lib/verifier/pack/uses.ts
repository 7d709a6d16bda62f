/**
 * The uses of standing approvals in an evidence pack: each within the terms that people approved, and all of one numbered
 * as they can only be if none is missing or counted twice. A use that lapsed gives its number back, so the next one may
 * have it again; a use that an attestation of this pack is backed by never does. And of all approvals, those of people
 * too: each backs one attestation at most, and none that was taken back. A use may be attested after its standing approval
 * ended, since its action may have run before, but it can't have been claimed after.
 */
import { amountUnits } from "#lib/protocol/approval/amount";
import { type HumanAuthorization, isPasskeyApproval } from "#lib/protocol/approval/approval";
import { findEnd } from "#lib/protocol/approval/approval-end";
import type { DecidedByGrant, GrantTerms } from "#lib/protocol/approval/decided-by";
import { whyOutOfScope } from "#lib/protocol/approval/grant";
import { parseHumanAuthorization } from "#lib/protocol/approval/human-authorization-shape";
import { utf8Encode } from "#lib/protocol/encoding/bytes";
import { canonicalHash, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import { CHANGE_FILE_TYPE, type PackEntry } from "#lib/protocol/pack/pack-entries";
import { type PackCheck, packFault, packGap, packPass, withWarnings } from "#lib/protocol/pack/pack-reasons";
import { parseRosterStatement, rosterHash, rosterOrganization } from "#lib/protocol/passkey/roster";
import { parseEnforcedRules, rulesOrganization } from "#lib/protocol/policy/replay";
import { parseChangeStatement } from "#lib/protocol/record/agent-heads";
import { type Fault, failBy } from "#lib/protocol/statement/outcome";
import { parseActionStatement } from "#lib/protocol/statement/statement";
import { formatCount } from "#lib/protocol/text/display-text";
import { findMaker, type ListedStatement } from "#lib/verifier/checks/check-sum";
import type { VerifierTrust } from "#lib/verifier/checks/trust";

interface Use {
  number: number;
  object: HumanAuthorization;
  by: DecidedByGrant;
}

interface Grant {
  number: number;
  object: HumanAuthorization;
  terms: GrantTerms;
}

interface Count {
  uses: number;
  spent: bigint;
}

/** Facts of an entry that other entries' uses are judged by. */
export interface UseFacts {
  file: string;
  number: number;
  /** Set if nobody can read it: it may be a use (`"use"`), or is none (`"other"`). */
  unread: "use" | "other" | null;
  /** The request whose approval this change takes back, when, and the request's id as the file has it. */
  revoked: { hash: string; at: string; id: JsonValue | undefined } | null;
  isDecision: boolean;
  /** The approval decided, or used. */
  object: HumanAuthorization | null;
  /** Undefined but for an attestation with content. */
  timestamp: string | undefined;
  /** Time at which a run claimed it, if the service says that it was stopped after. */
  claimedAt: string | undefined;
}

export interface UseList {
  add(facts: UseFacts | null): void;
  judge(): PackCheck;
}

/** Hash in decisions: without the log entry. */
const hashAuthorization = ({ log: _log, ...object }: HumanAuthorization) =>
  canonicalHash(object as unknown as JsonObject);

const toUnits = (value: string | null | undefined) => (value == null ? 0n : amountUnits(value));

/** Names the term that the use exceeds. The context is hidden: only the service has compared it. */
function findBeyond({ object, by }: Use, { object: grant, terms }: Grant): string | null {
  const { request } = object;
  // A TEST approval covers only TEST uses.
  if (grant.environment !== "production" && object.environment !== grant.environment) return "environment";
  const isOwn =
    request.organization === grant.request.organization &&
    request.agent_slug.toLowerCase() === grant.request.agent_slug.toLowerCase() &&
    request.agent_public_key === grant.request.agent_public_key;
  if (!isOwn) return "agent";
  const { approved_at: from, usable_until: until } = grant;
  if (object.approved_at < from || (until !== null && object.approved_at >= until)) return "time";
  const scope = whyOutOfScope(terms, request, null, new Date(object.approved_at));
  if (scope !== null) return scope;
  const { max_calls, max_budget = null, currency = null } = terms;
  const limits = [by.of, by.budget, by.currency].join();
  return limits === [max_calls, max_budget, currency].join() ? null : "limits";
}

/**
 * Finds why the number or the sum of a use can't follow those before it. `kept`: of them, those that were attested. `unread`:
 * how many decisions in between have no content, each perhaps another use.
 */
function findBreak(
  { by, object }: Use,
  before: Count | null,
  kept: Count,
  unread: number,
): "use_missing" | "use_repeated" | null {
  const own = toUnits(object.request.amount?.value);
  const spent = toUnits(by.spent);
  if (by.use <= kept.uses || (by.spent !== null && spent < kept.spent + own)) return "use_repeated";
  if (before === null) return null;
  const isNext = by.use <= before.uses + 1 + unread && (unread > 0 || spent <= before.spent + own);
  return isNext ? null : "use_missing";
}

function readRevoked({ type, payload, request_id: id }: JsonObject): UseFacts["revoked"] {
  if (type !== CHANGE_FILE_TYPE || typeof payload !== "string") return null;
  const change = parseChangeStatement(utf8Encode(payload));
  return change?.request_hash ? { hash: change.request_hash, at: change.changed_at, id } : null;
}

const readPredicate = ({ payload }: JsonObject) =>
  typeof payload === "string" ? parseActionStatement(payload)?.predicate : undefined;

type Attested = Pick<UseFacts, "number" | "timestamp" | "claimedAt">;

interface Revocation {
  number: number;
  at: string;
}

/** A claim is noted a moment after its approval was looked at. */
const slackMs = 2_000;

/** True if it may be a use that nobody can read. */
const isUnread = ({ decision }: PackEntry) => decision === null || decision === "approved";

/** Null for an entry that no use depends on. Of an entry outside the period nothing is read. */
export function readUse(entry: PackEntry, json: JsonObject): UseFacts | null {
  const { file, sequence: number, state, isDecision } = entry;
  const isInside = /(?:^|\/)(?:decisions|attestations)\//.test(file);
  const isHidden = isInside && (state === "erased" || state === "withheld");
  const object = isInside ? parseHumanAuthorization(json["human_authorization"]) : null;
  const predicate = object === null || isDecision ? undefined : readPredicate(json);
  const unread = !isHidden ? null : isDecision && isUnread(entry) ? "use" : "other";
  const revoked = isInside ? readRevoked(json) : null;
  if (unread === null && revoked === null && object === null) return null;
  return {
    file,
    number,
    isDecision,
    unread,
    revoked,
    object,
    timestamp: predicate?.timestamp,
    claimedAt: predicate?.approval_stopped?.claimed_at,
  };
}

export function createUseList(): UseList {
  const grants = new Map<string, Grant>();
  const uses = new Map<string, Use[]>();
  /** Hash of an approval's request → the one attestation that it backs at most. */
  const attested = new Map<string, Attested>();
  /** Request hash → the change that took its approval back. */
  const revoked = new Map<string, Revocation>();
  const warnings: string[] = [];
  /** Request hash ↔ hash of the approval: a request has one. */
  const names = new Map<string, string>();
  /** Request hash ↔ id of the request, as approvals have both. */
  const ids = new Map<string, string>();
  /** Approvals that are no standing ones. */
  const single = new Set<string>();
  let fault: PackCheck | null = null;
  const unread: number[] = [];
  let withoutContent = 0;

  function name(number: number, requestHash: string, hash: string): void {
    for (const [one, other] of [
      [requestHash, hash],
      [hash, requestHash],
    ] as const) {
      if ((names.get(one) ?? other) !== other)
        fault ??= packFault("uses", "use_out_of_terms", { number, what: "approval" });
      names.set(one, other);
    }
  }

  function addDecision(number: number, object: HumanAuthorization): void {
    const { request, binding, decided_by: by } = object;
    const hash = hashAuthorization(object);
    name(number, binding.request_hash, hash);
    if (request.grant === null) single.add(hash);
    else grants.set(hash, { number, object, terms: request.grant });
    if (by.kind !== "grant") return;
    name(number, by.request_hash, by.authorization_hash);
    const ofGrant = uses.get(by.authorization_hash) ?? [];
    ofGrant.push({ number, object, by });
    uses.set(by.authorization_hash, ofGrant);
  }

  function judgeGrant(grant: Grant | undefined, all: readonly Use[]): PackCheck | null {
    const kept: Count = { uses: 0, spent: 0n };
    // Uses of a standing approval all come after it in the record.
    let before: Count | null = grant ? { uses: 0, spent: 0n } : null;
    let last = grant?.number ?? 0;
    for (const use of [...all].sort((a, b) => a.number - b.number)) {
      const { number, by, object } = use;
      const end = revoked.get(by.request_hash)?.number ?? number;
      if (end < number) return packFault("uses", "approval_taken_back", { number, revoked: end });
      const late = judgeAttested(use, grant);
      if (late !== null) return late;
      const isStanding = !single.has(by.authorization_hash);
      const what = isStanding ? grant && findBeyond(use, grant) : "approval";
      if (what) return packFault("uses", "use_out_of_terms", { number, what });
      const between = unread.filter((one) => one > last && one < number).length;
      const problem = findBreak(use, before, kept, between);
      if (problem !== null) return packFault("uses", problem, { number, use: by.use });
      if (attested.has(object.binding.request_hash)) {
        kept.uses += 1;
        kept.spent += toUnits(object.request.amount?.value);
      }
      before = { uses: by.use, spent: toUnits(by.spent) };
      last = number;
    }
    return null;
  }

  /** Warns of a use that was attested after its standing approval ended; the fault of one that was claimed after. */
  function judgeAttested({ object, by }: Use, grant: Grant | undefined): PackCheck | null {
    const used = attested.get(object.binding.request_hash);
    if (used === undefined) return null;
    const { number, timestamp, claimedAt: claimed } = used;
    const revocation = revoked.get(by.request_hash);
    const over =
      grant && findEnd({ usable_until: grant.object.usable_until, grant: grant.terms }, timestamp ?? "");
    const isRevoked = revocation !== undefined && revocation.number < number;
    if (isRevoked)
      warnings.push(
        `number ${number} was attested after number ${revocation.number} took back its standing approval`,
      );
    else if (over)
      warnings.push(`number ${number} was attested after its standing approval ended at ${over}`);
    if (claimed === undefined) return null;
    const isLate =
      (isRevoked && claimed > revocation.at) || (over && Date.parse(claimed) > Date.parse(over) + slackMs);
    return isLate ? packFault("uses", "claimed_late", { number, claimed }) : null;
  }

  function addRevoked({ file, number }: UseFacts, { hash, at, id }: NonNullable<UseFacts["revoked"]>): void {
    revoked.set(hash, { number, at });
    const isOther =
      (ids.get(hash) ?? id) !== id || (typeof id === "string" && (ids.get(id) ?? hash) !== hash);
    if (isOther)
      fault ??= packFault("uses", "entry_invalid", { file, problem: "request_id is another request's" });
  }

  function addAttestation({ number, timestamp, claimedAt }: UseFacts, { binding }: HumanAuthorization): void {
    const earlier = attested.get(binding.request_hash)?.number;
    if (earlier !== undefined) fault ??= packFault("uses", "approval_reused", { number, earlier });
    else attested.set(binding.request_hash, { number, timestamp, claimedAt });
  }

  function findTakenBack(): PackCheck | null {
    for (const [hash, { number }] of attested) {
      const end = revoked.get(hash)?.number;
      if (end !== undefined) return packFault("uses", "approval_taken_back", { number, revoked: end });
    }
    return null;
  }

  return {
    add: (facts) => {
      if (facts === null) return;
      const { number, object, revoked: taken } = facts;
      if (facts.unread !== null) withoutContent += 1;
      if (facts.unread === "use") unread.push(number);
      if (taken !== null) addRevoked(facts, taken);
      if (object === null) return;
      ids.set(object.binding.request_hash, object.request.request_id);
      ids.set(object.request.request_id, object.binding.request_hash);
      if (facts.isDecision) addDecision(number, object);
      else addAttestation(facts, object);
    },
    judge: () => {
      fault ??= findTakenBack();
      for (const [hash, all] of uses) fault ??= judgeGrant(grants.get(hash), all);
      if (fault !== null) return fault;
      const count = [...uses.values()].flat().length;
      const unknown = count === 0 ? unread.length : withoutContent;
      if (unknown > 0)
        return withWarnings(
          packGap("uses", "use_content_absent", { entries: formatCount(unknown, "entry", "entries") }),
          warnings,
        );
      if (count === 0) return packPass("uses", "no use of a standing approval");
      const outside = [...uses].filter(([hash]) => !grants.has(hash)).flatMap(([, all]) => all).length;
      const check =
        outside > 0
          ? packGap("uses", "use_terms_absent", { uses: formatCount(outside, "use") })
          : packPass(
              "uses",
              `${formatCount(count, "use")} of standing approvals, each within its terms, none missing`,
            );
      return withWarnings(check, warnings);
    },
  };
}

/*
 * The rosters of enrolled approvers and the enforced rules that approvals in an evidence pack rest on. Each must be in the
 * log, and monitors see it there: otherwise a service could invent an approver, and nobody would notice.
 */

/** A roster or rules that an approval rests on. */
export interface Ground {
  number: number;
  what: "a roster" | "rules";
  name: string;
  origin: unknown;
  index: number;
}

export function readGrounds({ sequence: number }: PackEntry, json: JsonObject): Ground[] {
  const object = parseHumanAuthorization(json["human_authorization"]);
  if (object === null) return [];
  const { request, approvals, decided_by: by, log } = object;
  const place = { number, origin: log?.["origin"], index: Number(log?.["index"]) };
  const heads = approvals.filter(isPasskeyApproval).map(({ roster }) => roster.head);
  const rosters = heads.map((head) => `${rosterOrganization(head.organization)} ${rosterHash(head)}`);
  const rules = by.kind === "rule" ? [`${rulesOrganization(request.organization)} ${by.ruleset_hash}`] : [];
  return [
    ...rosters.map((name) => ({ ...place, what: "a roster" as const, name })),
    ...rules.map((name) => ({ ...place, what: "rules" as const, name })),
  ];
}

/** Null for another statement. */
function readName({ payload }: ListedStatement): string | null {
  const roster = parseRosterStatement(payload);
  if (roster !== null) return `${roster.organization} ${roster.roster_hash}`;
  const rules = parseEnforcedRules(payload);
  return rules && `${rules.organization} ${rules.ruleset_hash}`;
}

export function createGroundList() {
  const grounds: Ground[] = [];
  return {
    add: (found: readonly Ground[]): void => void grounds.push(...found),
    /** `all`: the service's own statements. */
    judge: (all: readonly ListedStatement[] | Fault, trust: VerifierTrust): PackCheck => {
      if (!Array.isArray(all)) return { name: "grounds", ...failBy(all as Fault) };
      const listed = new Map<string, ListedStatement[]>();
      for (const statement of all as readonly ListedStatement[]) {
        const name = readName(statement);
        if (name === null || findMaker(statement, trust) === undefined) continue;
        listed.set(name, [...(listed.get(name) ?? []), statement]);
      }
      const isBefore = ({ origin, index }: Ground, { logOrigin, logIndex }: ListedStatement) =>
        logOrigin !== origin || logIndex < index;
      const unfounded = grounds.find((one) => !listed.get(one.name)?.some((found) => isBefore(one, found)));
      if (unfounded !== undefined) {
        const { number, what } = unfounded;
        return packFault("grounds", "ground_not_logged", { number, what });
      }
      const names = new Set(grounds.map(({ name }) => name));
      return packPass(
        "grounds",
        `${formatCount(names.size, "roster or version of rules", "rosters and versions of rules")}, each in the log before the approvals that rest on it`,
      );
    },
  };
}
