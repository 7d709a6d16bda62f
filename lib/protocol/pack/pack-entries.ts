/** An entry of an evidence pack in one row: what its signed bytes say, and nothing that is only shown with them. */
import { type Decision, parseDecisionStatement } from "#lib/protocol/approval/approval-decision";
import { parseHumanAuthorization } from "#lib/protocol/approval/human-authorization-shape";
import { readOpening } from "#lib/protocol/approval/opening";
import { utf8Encode } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { type AgentChangeKind, parseChangeStatement } from "#lib/protocol/record/agent-heads";
import {
  type Facts,
  factsOfApproval,
  factsOfReceipt,
  factsOfSignedRequest,
  hiddenFacts,
  type Names,
  noNames,
} from "#lib/protocol/record/facts";
import { type BackedMethod, type HumanApproval, isBacked } from "#lib/protocol/statement/human-approval";
import {
  type ActionPredicate,
  type ActionStatement,
  parseActionStatement,
} from "#lib/protocol/statement/statement";
import {
  factsOfStatement,
  findWarnings,
  type WarningCode,
  warningCodes,
} from "#lib/protocol/statement/warnings";

/** `type` field of a decision's file; an attestation's file is the API's answer. */
export const DECISION_FILE_TYPE = "authorization_decision";
/** The same of a change of what the agent may do. */
export const CHANGE_FILE_TYPE = "agent_change";

/** `withheld`: private, and its owner kept the content out of the pack. */
export type EntryState = "public" | "private" | "withheld" | "erased";

export interface PackEntry {
  /** Number in the entry's file; a check compares it. */
  sequence: number;
  file: string;
  /** Owner by the signed bytes; null if they are not there. */
  slug: string | null;
  state: EntryState;
  /** Time by the signed bytes; null if they are not there. */
  time: string | null;
  /** Action done or asked for; null if the bytes that say so are missing. */
  action: string | null;
  /** Null unless an approval backs it; the other of the two is null. */
  approval: HumanApproval | null;
  decision: Decision["decision"] | AgentChangeKind | null;
  /** Number of the decision about the request that an approver made of this one, which was cancelled for it. */
  changedInto: number | null;
  /** Or a change of what the agent may do. */
  isDecision: boolean;
  isTest: boolean;
  facts: Facts;
  /** Warnings from the signed bytes; a key that was revoked later is no matter of the record. */
  warnings: WarningCode[];
}

const readPayload = ({ payload }: JsonObject) => (typeof payload === "string" ? utf8Encode(payload) : null);
/** Number of the later entry that decides about what an approver made of a request; null if none is named. */
export function readChangedInto(json: JsonObject, decision: string | undefined): number | null {
  const { changed_into: other, request = null, sequence } = json;
  const isOne = decision === "cancelled" && isJsonObject(request) && Number.isSafeInteger(other);
  return isOne && Number(other) > Number(sequence) ? Number(other) : null;
}

const readText = (value: unknown) => (typeof value === "string" ? value : null);

function readWarnings(predicate: ActionPredicate, answer: JsonObject): WarningCode[] {
  const { tool_manifest: manifest } = answer;
  return findWarnings(
    factsOfStatement(predicate, typeof manifest === "string" ? utf8Encode(manifest) : null),
  );
}

/** Adds what the file's opening shows, whose check is the verifier's. */
function openFacts(json: JsonObject, read: (names: Names) => Facts): Facts {
  const { opening = null, human_authorization: object } = json;
  const opened = isJsonObject(object) && opening !== null ? readOpening(opening, object) : null;
  if (opened === null) return read(noNames);
  const { names, ...shown } = opened;
  return { ...read(names), ...shown };
}

function readAttestation(file: string, answer: JsonObject, parsed?: ActionStatement): PackEntry {
  const { payload, record, status, human_authorization: object } = answer;
  const statement = typeof payload === "string" ? (parsed ?? parseActionStatement(payload)) : null;
  const predicate = statement?.predicate;
  const missing = status === "erased" ? "erased" : "withheld";
  const approval = predicate?.human_approval ?? null;
  const backing = isJsonObject(object) && parseHumanAuthorization(object) !== null ? object : null;
  return {
    sequence: isJsonObject(record) ? Number(record["sequence"]) : Number.NaN,
    file,
    slug: readText(predicate?.request["agent_slug"]),
    state: predicate === undefined ? missing : predicate.is_public ? "public" : "private",
    time: predicate?.timestamp ?? null,
    action: readText(predicate?.request["action"]),
    approval,
    decision: null,
    changedInto: null,
    isDecision: false,
    isTest: approval !== null && isBacked(approval) && approval.environment !== "production",
    facts: openFacts(answer, (names) => factsOfReceipt(predicate ?? null, backing, names)),
    warnings: predicate === undefined ? [] : readWarnings(predicate, answer),
  };
}

function readDecision(file: string, json: JsonObject): PackEntry {
  const { sequence, request, human_authorization: object = null } = json;
  const payload = readPayload(json);
  const decided = payload === null ? null : parseDecisionStatement(payload);
  const authorization = parseHumanAuthorization(object);
  const isWhole = isJsonObject(request) && (decided?.decision !== "approved" || authorization !== null);
  const withPayload = isWhole ? "private" : "withheld";
  const asked = payload !== null && isJsonObject(request) ? request : {};
  return {
    sequence: Number(sequence),
    file,
    slug: readText(asked["agent_slug"]),
    state: payload === null ? "erased" : withPayload,
    time: decided?.decided_at ?? null,
    action: readText(asked["action"]),
    approval: null,
    decision: decided?.decision ?? null,
    changedInto: readChangedInto(json, decided?.decision),
    isDecision: true,
    isTest: authorization !== null && authorization.environment !== "production",
    facts: openFacts(json, (names) =>
      isJsonObject(object) && authorization !== null
        ? factsOfApproval(object, names)
        : factsOfSignedRequest(asked),
    ),
    warnings: [],
  };
}

function readChange(file: string, json: JsonObject): PackEntry {
  const { sequence, reason = null } = json;
  const payload = readPayload(json);
  const changed = payload === null ? null : parseChangeStatement(payload);
  const isWhole = changed !== null && (changed.reason_hash === null || typeof reason === "string");
  return {
    sequence: Number(sequence),
    file,
    slug: null,
    state: isWhole ? "private" : "withheld",
    time: changed?.changed_at ?? null,
    action: changed === null ? null : readText(reason),
    approval: null,
    decision: changed?.change ?? null,
    changedInto: null,
    isDecision: true,
    isTest: false,
    facts: hiddenFacts,
    warnings: [],
  };
}

/** `parsed`: the statement of an attestation's payload, if it is known. */
export function readPackEntry(file: string, json: JsonObject, parsed?: ActionStatement): PackEntry {
  if (json["type"] === CHANGE_FILE_TYPE) return readChange(file, json);
  return json["type"] === DECISION_FILE_TYPE ? readDecision(file, json) : readAttestation(file, json, parsed);
}

/* Totals over the entries of an evidence pack. The verifier recounts them from the entries. */

export interface PackCounts {
  entries: number;
  attestations: Record<EntryState | "total", number>;
  approvals: {
    none: number;
    asserted: number;
    /** Counts by decider, level and environment; others than `production` are tests. */
    backed: { method: BackedMethod; level: string; environment: string; count: number }[];
  };
  decisions: Record<
    "total" | "approved" | "denied" | "cancelled" | "revoked" | "frozen" | "unfrozen" | "erased",
    number
  >;
  /** Codes in the order of lib/protocol/statement/warnings.ts, without those that don't occur. */
  warnings: { code: string; count: number }[];
}

/** Sums of two parts of the entries: every number in them, and what is counted by its name. */
export function addCounts(one: PackCounts, other: PackCounts): PackCounts {
  const add = <Counted extends Record<string, number>>(a: Counted, b: Counted): Counted =>
    Object.fromEntries(Object.keys(a).map((name) => [name, (a[name] ?? 0) + (b[name] ?? 0)])) as Counted;
  const codes = new Map<string, number>();
  for (const { code, count } of [...one.warnings, ...other.warnings])
    codes.set(code, (codes.get(code) ?? 0) + count);
  return {
    entries: one.entries + other.entries,
    attestations: add(one.attestations, other.attestations),
    approvals: {
      none: one.approvals.none + other.approvals.none,
      asserted: one.approvals.asserted + other.approvals.asserted,
      backed: sumBacked([...one.approvals.backed, ...other.approvals.backed]),
    },
    decisions: add(one.decisions, other.decisions),
    warnings: warningCodes.flatMap((code) => {
      const count = codes.get(code);
      return count === undefined ? [] : { code, count };
    }),
  };
}

const count = (entries: readonly PackEntry[], is: (entry: PackEntry) => boolean) => entries.filter(is).length;

type Backed = PackCounts["approvals"]["backed"];

function sumBacked(all: Backed): Backed {
  const found = new Map<string, Backed[number]>();
  for (const { count, ...way } of all) {
    const name = JSON.stringify([way.environment, way.method, way.level]);
    found.set(name, { ...way, count: (found.get(name)?.count ?? 0) + count });
  }
  return [...found.keys()].sort().flatMap((name) => found.get(name) ?? []);
}

const countBacked = (entries: readonly PackEntry[]): Backed =>
  sumBacked(
    entries.flatMap(({ approval }) => {
      if (approval === null || !isBacked(approval)) return [];
      const { method, level, environment } = approval;
      return { method, level, environment, count: 1 };
    }),
  );

export function countPack(entries: readonly PackEntry[]): PackCounts {
  const attestations = entries.filter(({ isDecision }) => !isDecision);
  const decisions = entries.filter(({ isDecision }) => isDecision);
  const inState = (wanted: EntryState) => count(attestations, ({ state }) => state === wanted);
  const decided = (wanted: PackEntry["decision"]) => count(decisions, ({ decision }) => decision === wanted);
  return {
    entries: entries.length,
    attestations: {
      total: attestations.length,
      public: inState("public"),
      private: inState("private"),
      withheld: inState("withheld"),
      erased: inState("erased"),
    },
    approvals: {
      none: count(attestations, ({ approval }) => approval?.method === "none"),
      asserted: count(attestations, ({ approval }) => approval?.method === "hash"),
      backed: countBacked(attestations),
    },
    decisions: {
      total: decisions.length,
      approved: decided("approved"),
      denied: decided("denied"),
      cancelled: decided("cancelled"),
      revoked: decided("authorization_revoked"),
      frozen: decided("frozen"),
      unfrozen: decided("unfrozen"),
      erased: decided(null),
    },
    warnings: warningCodes.flatMap((code) => {
      const found = count(entries, ({ warnings }) => warnings.includes(code));
      return found === 0 ? [] : { code, count: found };
    }),
  };
}
