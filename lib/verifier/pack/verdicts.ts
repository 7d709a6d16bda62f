/**
 * Checks what the attestations of an evidence pack say about the entries before them: that the agent's own number
 * follows its instance's last one, and since when the agent was frozen. Both are signed, and both follow from the
 * record. Also checks that no request was approved while the agent was frozen, that no signature of the agent's counted
 * twice, and that a request was cancelled before the one that an approver made of it was approved.
 */
import { parseDecisionStatement } from "#lib/protocol/approval/approval-decision";
import { parseHumanAuthorization } from "#lib/protocol/approval/human-authorization-shape";
import { utf8Encode } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { CHANGE_FILE_TYPE, type PackEntry } from "#lib/protocol/pack/pack-entries";
import { type PackCheck, packFault, packPass } from "#lib/protocol/pack/pack-reasons";
import { parseChangeStatement } from "#lib/protocol/record/agent-heads";
import {
  type ActionPredicate,
  isClientGap,
  parseActionStatement,
  readClientNumber,
} from "#lib/protocol/statement/statement";
import { formatCount } from "#lib/protocol/text/display-text";

type SaidPredicate = Pick<
  ActionPredicate,
  "timestamp" | "registered" | "verdicts" | "agent_signature" | "agent_frozen_at"
> & { client: ReturnType<typeof readClientNumber> };

/** An entry, as far as entries after it depend on it. */
export interface Said {
  number: number;
  /** Null for other entries, and for an attestation without content. */
  predicate: SaidPredicate | null;
  /** Time of the freeze, or null if it goes on; undefined if nothing about it was changed. */
  frozen: string | null | undefined;
  isApproval: boolean;
  /** Hash of the request that was cancelled here, or that the one approved here changes; null for another entry. */
  cancelled: string | null;
  amends: string | null;
  /** Number of the decision about what an approver made of the request that was cancelled here. */
  changedInto: number | null;
  /** Hash of the request that the one decided here changes, whatever was decided; null for another entry. */
  changes: string | null;
  /** A decision without content, which may be a cancellation. */
  isErased: boolean;
  /** An attestation that may have any number of the agent's own. */
  isUnread: boolean;
}

/** `request`: compared with the hash that was decided. */
function readChanges({ request = null }: JsonObject): string | null {
  const { amends = null } = isJsonObject(request) ? request : {};
  return isJsonObject(amends) ? String(amends["request_hash"]) : null;
}

export function readSaid(
  { sequence: number, isDecision, decision, changedInto }: PackEntry,
  json: JsonObject,
): Said {
  const payload = typeof json["payload"] === "string" ? json["payload"] : null;
  const isApproval = decision === "approved";
  const said: Said = {
    number,
    predicate: null,
    frozen: undefined,
    isApproval,
    cancelled: null,
    amends: null,
    changedInto,
    changes: null,
    isErased: false,
    isUnread: false,
  };
  if (json["type"] === CHANGE_FILE_TYPE) {
    const change = payload === null ? null : parseChangeStatement(utf8Encode(payload));
    if (change?.change === "frozen") return { ...said, frozen: change.changed_at };
    return change?.change === "unfrozen" ? { ...said, frozen: null } : said;
  }
  if (isDecision) {
    const cancelled =
      decision === "cancelled" && payload !== null
        ? (parseDecisionStatement(utf8Encode(payload))?.request_hash ?? null)
        : null;
    const { amends } = parseHumanAuthorization(json["human_authorization"])?.request ?? {};
    return {
      ...said,
      cancelled,
      amends: amends?.request_hash ?? null,
      changes: readChanges(json),
      isErased: payload === null,
    };
  }
  const predicate = payload === null ? null : (parseActionStatement(payload)?.predicate ?? null);
  said.isUnread = predicate === null;
  if (predicate === null) return said;
  const { timestamp, registered, verdicts, agent_signature, agent_frozen_at } = predicate;
  const kept: SaidPredicate = {
    timestamp,
    registered,
    verdicts,
    client: readClientNumber(predicate.request),
  };
  if (agent_signature !== undefined) kept.agent_signature = agent_signature;
  if (agent_frozen_at !== undefined) kept.agent_frozen_at = agent_frozen_at;
  said.predicate = kept;
  return said;
}

/** State at an entry, unknown before the pack begins. */
interface Known {
  number: number;
  /** Undefined: unknown. */
  frozen: string | null | undefined;
  /** Instance → its last number. */
  last: Map<string, number>;
  /** Signature that verified → its number. */
  signed: Map<string, number>;
  /** Last number of an instance not in `last`: 0, or undefined if unknown. */
  lastOfOthers: number | undefined;
  /** True while every decision from the first on has been read. */
  isWhole: boolean;
  /** Hashes of requests that were cancelled, and of those that an approved request changed. */
  cancelled: Set<string>;
  amended: Set<string>;
  /** Number of a decision → which cancellation names it, of which request. */
  replacing: Map<number, { by: number; hash: string }>;
}

/** Milliseconds by which the clocks of a service's processes may differ. */
const slackMs = 2_000;

/** 1.0.0 didn't say that an agent was frozen if its slug was claimed and frozen while an attestation of it waited. */
const isMadeBefore = ({ timestamp, registered }: SaidPredicate, frozen: string) =>
  Object.values(registered).every((value) => value === null) &&
  Date.parse(timestamp) <= Date.parse(frozen) + slackMs;

function isFrozenAsSaid(predicate: SaidPredicate, frozen: string | null): boolean {
  const { agent_frozen_at: said = null } = predicate;
  return said === frozen || (said === null && frozen !== null && isMadeBefore(predicate, frozen));
}

const otherThanNamed = (number: number, other: number) =>
  packFault("verdicts", "changed_into_other", { number, other });

/** A request ends, cancelled, before the one that an approver made of it can be approved: never are both open. */
function followAmendment(known: Known, said: Said): PackCheck | null {
  const { number, cancelled, amends, changedInto, changes, isErased } = said;
  if (isErased) known.isWhole = false;
  const named = known.replacing.get(number);
  known.replacing.delete(number);
  // Erasure may have happened while the pack was made.
  if (named !== undefined && !isErased && named.hash !== changes) return otherThanNamed(named.by, number);
  if (cancelled !== null && known.amended.has(cancelled))
    return packFault("verdicts", "amended_open", { number });
  if (cancelled !== null) known.cancelled.add(cancelled);
  if (cancelled !== null && changedInto !== null)
    known.replacing.set(changedInto, { by: number, hash: cancelled });
  if (amends === null) return null;
  known.amended.add(amends);
  return known.isWhole && !known.cancelled.has(amends)
    ? packFault("verdicts", "amended_open", { number })
    : null;
}

/** Goes on to the next entry; its fault is what it says otherwise than the entries before it. */
function follow(known: Known, said: Said): PackCheck | null {
  const { number, predicate, frozen, isApproval, isUnread } = said;
  if (number !== known.number + 1) {
    known.isWhole = false;
    known.frozen = undefined;
    known.lastOfOthers = undefined;
    known.last.clear();
  }
  known.number = number;
  if (frozen !== undefined) known.frozen = frozen;
  if (isUnread) {
    known.lastOfOthers = undefined;
    known.last.clear();
  }
  if (isApproval && typeof known.frozen === "string")
    return packFault("verdicts", "approved_while_frozen", { number });
  const amended = followAmendment(known, said);
  if (amended !== null || predicate === null) return amended;
  if (known.frozen !== undefined && !isFrozenAsSaid(predicate, known.frozen))
    return packFault("verdicts", "frozen_mismatch", { number });
  const { agent_signature: signature, verdicts, client } = predicate;
  if (signature !== undefined && verdicts.agent_authenticated === true) {
    const earlier = known.signed.get(signature);
    if (earlier !== undefined) return packFault("verdicts", "signature_replayed", { number, earlier });
    known.signed.set(signature, number);
  }
  if (client === null) return null;
  const last = known.last.get(client.instance) ?? known.lastOfOthers;
  known.last.set(client.instance, client.sequence);
  const isAsSaid = last === undefined || isClientGap(last, client) === verdicts.client_gap;
  return isAsSaid ? null : packFault("verdicts", "client_gap_mismatch", { number });
}

/** Entries are added in their order, but for those beside the period, which come first. */
export function createVerdictList() {
  const known: Known = {
    ...{ number: 0, frozen: null, last: new Map(), signed: new Map(), lastOfOthers: 0 },
    ...{ isWhole: true, cancelled: new Set(), amended: new Set(), replacing: new Map() },
  };
  const beside: Said[] = [];
  let fault: PackCheck | null = null;
  let count = 0;
  const goOn = (said: Said) => {
    if (said.predicate !== null) count += 1;
    fault ??= follow(known, said);
  };
  /** The period's own file is read for an entry that is in another beside it too. */
  const passBeside = (before: number) => {
    while (beside[0] !== undefined && beside[0].number <= before) {
      const said = beside.shift() as Said;
      if (said.number !== before && said.number !== known.number) goOn(said);
    }
  };
  return {
    addBeside: (said: Said): void => {
      beside.push(said);
      beside.sort((a, b) => a.number - b.number);
    },
    add: (said: Said): void => {
      passBeside(said.number);
      goOn(said);
    },
    judge: (): PackCheck => {
      passBeside(Number.POSITIVE_INFINITY);
      const [unmet] = known.replacing;
      if (fault === null && unmet !== undefined) fault = otherThanNamed(unmet[1].by, unmet[0]);
      if (fault !== null) return fault;
      return packPass(
        "verdicts",
        `in ${formatCount(count, "attestation")}, what is said about a freeze and about the agent's own numbers fits the entries before, as far as these are here`,
      );
    },
  };
}
