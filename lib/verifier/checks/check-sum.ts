/**
 * The sum over a snapshot: every leaf below it is in some agent's row or is a statement that the service lists
 * (docs/wire.md, Record of an agent).
 */

import { hexEncode, sha256 } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { buildHeadsTree } from "#lib/protocol/record/agent-heads";
import { addsUp, isOfStatement } from "#lib/protocol/record/heads-statement";
import { type Fault, fail, fault, type Outcome, pass, skip } from "#lib/protocol/statement/outcome";
import {
  AGENT_ACTION_PREDICATE,
  AGENT_CHANGE_PREDICATE,
  AGENT_HEADS_PREDICATE,
  APPROVER_ROSTER_PREDICATE,
  DECISION_PREDICATE,
  EPOCH_PREDICATE,
  KEY_EVENT_PREDICATE,
  parseCanonical,
  RULESET_PREDICATE,
} from "#lib/protocol/statement/statement";
import { countOf } from "#lib/protocol/text/count";
import type { SignedHeads } from "./check-snapshot";
import { readObject, requireIndex, requireText, UnreadableError } from "./read-json";
import { findMaker, readSignedStatement, type SignedStatement } from "./signed-statement";
import type { VerifierTrust } from "./trust";

export interface ListedStatement extends SignedStatement {
  kind: string;
  logOrigin: string;
  logIndex: number;
}

export interface SumSource {
  /** GET /log/agent-heads/:covers_size, by the path that the snapshot names; null if a kept record has none. */
  readRows(path: string): Promise<Uint8Array | null>;
  /** GET /v1/log/statements from this number on, as text or parsed. */
  readStatements(from: number): Promise<unknown>;
}

/** Kind of statements that an agent's record already counts. */
const ofRecord = "of_record";

const kinds: Record<string, string> = {
  [KEY_EVENT_PREDICATE]: "key_event",
  [EPOCH_PREDICATE]: "epoch",
  [AGENT_HEADS_PREDICATE]: "agent_heads",
  [RULESET_PREDICATE]: "ruleset",
  [APPROVER_ROSTER_PREDICATE]: "approver_roster",
  [AGENT_ACTION_PREDICATE]: ofRecord,
  [DECISION_PREDICATE]: ofRecord,
  [AGENT_CHANGE_PREDICATE]: ofRecord,
};

/** Takes the kind from the signed bytes: a snapshot under another name would be overlooked. */
function readListed(json: JsonObject): ListedStatement {
  const signed = readSignedStatement(json);
  const kind = kinds[String(parseCanonical(signed.payload)?.["predicateType"])] ?? "unknown";
  return {
    ...signed,
    kind,
    logOrigin: requireText(json, "log_origin"),
    logIndex: requireIndex(json, "log_index"),
  };
}

/** A statement's place, and how many there may be up to it. */
export interface ListEnd {
  logOrigin: string;
  logIndex: number;
  atMost: number;
}

/**
 * All statements, or those up to the end, in the order of the log and numbered without a gap. The server may never want
 * to end, so each page must bring one and lead on.
 */
export async function readStatementList(
  source: Pick<SumSource, "readStatements">,
  end?: ListEnd,
): Promise<ListedStatement[] | Fault> {
  const all: ListedStatement[] = [];
  for (let from = 1; ; ) {
    const { statements, next } = readObject(await source.readStatements(from));
    if (!Array.isArray(statements) || !statements.every(isJsonObject))
      throw new UnreadableError("statements: expected a list of objects");
    for (const statement of statements) {
      const listed = readListed(statement);
      if (requireIndex(statement, "number") !== all.length + 1 || all.length === end?.atMost)
        return fault("page_unending", { from });
      all.push(listed);
      if (listed.logOrigin === end?.logOrigin && listed.logIndex >= end.logIndex) return all;
    }
    if (next === null) return all;
    if (next !== all.length + 1 || statements.length === 0) return fault("page_unending", { from });
    from = next;
  }
}

/** Those of earlier logs and of the snapshot's own below its size. */
function statementsBelow(
  all: readonly ListedStatement[],
  { log_origin, covers_size }: SignedHeads,
): ListedStatement[] {
  const begin = all.findIndex(({ logOrigin }) => logOrigin === log_origin);
  return all.filter(({ logOrigin, logIndex }, i) =>
    logOrigin === log_origin ? logIndex < covers_size : i < begin,
  );
}

/** How many leaves a closed log had, by the statement that began the next one. */
function heldBefore({ kind, payload }: ListedStatement): number {
  if (kind !== "epoch") return 0;
  const statement = parseCanonical(payload);
  const predicate = statement?.["predicateType"] === EPOCH_PREDICATE ? statement["predicate"] : null;
  const held = isJsonObject(predicate) ? predicate["held"] : null;
  return isJsonObject(held) ? requireIndex(held, "size") : Number.NaN;
}

/** Only the monitor looks where a statement is in the log, so its bytes count once: each has a time or a number of its own. */
function findBroken(all: readonly ListedStatement[], trust: VerifierTrust): number {
  const seen = new Set<string>();
  return all.findIndex((statement) => {
    const { logIndex, logOrigin, payload, kind } = statement;
    const names = [`${logIndex} ${logOrigin}`, hexEncode(sha256(payload))];
    const isNew = names.every((name) => !seen.has(name));
    for (const name of names) seen.add(name);
    return !isNew || kind === ofRecord || findMaker(statement, trust) === undefined;
  });
}

/** `rows`: the file of the snapshot, if it is there; `all`: the list of statements, as it is shown, or to the snapshot. */
export function checkSum(
  heads: SignedHeads,
  rows: Uint8Array | null,
  all: readonly ListedStatement[],
  trust: VerifierTrust,
): Outcome {
  if (rows !== null && !isTreeOf(rows, heads)) return fail("sum_rows_mismatch");
  const broken = findBroken(all, trust);
  if (broken >= 0) return fail("sum_statement_invalid", { number: broken + 1 });
  const below = statementsBelow(all, heads);
  const found = {
    ...heads,
    statements: below.length,
    earlier_size: below.reduce((sum, one) => sum + heldBefore(one), 0),
  };
  if (!addsUp(found) || !addsUp(heads))
    return fail("sum_mismatch", {
      leaves: found.earlier_size + heads.covers_size,
      counted: heads.entries + below.length,
    });
  if (rows === null) return skip("sum_not_run");
  return pass(
    `${countOf(found.earlier_size + heads.covers_size, "leaf", "leaves")}: ${heads.entries.toLocaleString("en")} in ${countOf(heads.agents, "record")}, ${countOf(below.length, "statement")} of the service`,
  );
}

/** Rows of which no tree can be made are of none. */
export function isTreeOf(rows: Uint8Array, heads: SignedHeads): boolean {
  try {
    return isOfStatement(buildHeadsTree(rows), heads);
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
