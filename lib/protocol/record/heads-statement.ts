/**
 * Statement that logs a snapshot of all agents' heads. Every leaf below `covers_size` is counted, in an agent's row or
 * as a statement of the service.
 *
 *     entries + statements = earlier_size + covers_size
 */
import { base64Encode, hexEncode } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import {
  AGENT_HEADS_PREDICATE,
  buildStatement,
  parseCanonical,
  STATEMENT_TYPE,
} from "#lib/protocol/statement/statement";
import type { HeadsSummary } from "./agent-heads";

/** `predicate` of the signed statement. */
export type AgentHeads = {
  log_origin: string;
  /** The size of that log for which the rows are complete. */
  covers_size: number;
  agents: number;
  entries: number;
  /** Statements of the service below it, in this log and the closed ones before. */
  statements: number;
  /** Leaves of the closed logs together. */
  earlier_size: number;
  /** base64 */
  root: string;
  /** ISO 8601 */
  at: string;
  signed_by: string;
};

const SUBJECT = "agent-heads";

export const addsUp = ({ entries, statements, earlier_size, covers_size }: AgentHeads): boolean =>
  entries + statements === earlier_size + covers_size;

export function buildHeadsStatement(
  { agents, entries, root, digest }: HeadsSummary,
  about: Omit<AgentHeads, "agents" | "entries" | "root">,
): Uint8Array {
  const predicate: AgentHeads = { ...about, agents, entries, root: base64Encode(root) };
  return buildStatement(AGENT_HEADS_PREDICATE, SUBJECT, hexEncode(digest), predicate);
}

const counts = ["covers_size", "agents", "entries", "statements", "earlier_size"] as const;
const texts = ["log_origin", "root", "at", "signed_by"] as const;

/** Null for bytes that are not the canonical form of such a statement. */
export function parseHeadsStatement(payload: Uint8Array): (AgentHeads & { digestHex: string }) | null {
  const statement = parseCanonical(payload);
  const predicate = statement?.["predicate"];
  if (statement === null || !isJsonObject(predicate) || statement["_type"] !== STATEMENT_TYPE) return null;
  if (statement["predicateType"] !== AGENT_HEADS_PREDICATE) return null;
  const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;
  const isWhole =
    counts.every((name) => isCount(predicate[name])) &&
    texts.every((name) => typeof predicate[name] === "string");
  const digestHex = isWhole ? readDigest(statement) : null;
  return digestHex === null ? null : { ...(predicate as unknown as AgentHeads), digestHex };
}

function readDigest({ subject }: JsonObject): string | null {
  if (!Array.isArray(subject) || subject.length !== 1 || !isJsonObject(subject[0])) return null;
  const { name, digest } = subject[0];
  const hex = isJsonObject(digest) ? digest["sha256"] : null;
  return name === SUBJECT && typeof hex === "string" ? hex : null;
}

export function isOfStatement(tree: HeadsSummary, heads: AgentHeads & { digestHex: string }): boolean {
  return (
    tree.agents === heads.agents &&
    tree.entries === heads.entries &&
    base64Encode(tree.root) === heads.root &&
    hexEncode(tree.digest) === heads.digestHex
  );
}
