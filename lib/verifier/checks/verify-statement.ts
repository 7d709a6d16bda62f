/**
 * The verifier as a straight list: a receipt and the trusted keys → a report of all checks (docs/wire.md, Verify).
 * No I/O, and no verdict in the receipt is trusted. The server, the command line and the visitor's browser all run
 * this.
 */

import { sha256 } from "#lib/protocol/encoding/bytes";
import { verifyEd25519Strict } from "#lib/protocol/keys/ed25519";
import { type Outcome, skip } from "#lib/protocol/statement/outcome";
import type { CostlyChecks, Receipt, Trust } from "#lib/protocol/statement/receipt";
import {
  type ActionPredicate,
  type ActionStatement,
  parseActionStatement,
} from "#lib/protocol/statement/statement";
import type { Warning } from "#lib/protocol/statement/warnings";
import { verifyCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { checkAgent, checkCode, checkHumanAuthorization, checkToolsUsed, checkZkProof } from "./claim-checks";
import {
  checkAgentRecord,
  checkCheckpointSignature,
  checkKeyValidity,
  checkLogInclusion,
  checkPayloadHash,
  checkSignature,
  type RecordOutcome,
  type Subject,
} from "./record-checks";
import type { TimeBound, TimeOutcome } from "./time-checks";

export const attestationChecks = [
  "payload_hash",
  "signature",
  "key_validity",
  "log_inclusion",
  "checkpoint_signature",
  "agent_signature",
  "code_hash",
  "tools",
  "human_authorization",
  "zk_proof",
  "record",
  "not_before",
  "not_after",
] as const;
export type AttestationCheckName = (typeof attestationChecks)[number];

export type AttestationCheck = Outcome & { name: AttestationCheckName };

export interface AttestationReport {
  /** False if a check failed; null if none did but some had nothing to read; true only if all held. */
  valid: boolean | null;
  checks: AttestationCheck[];
  /** Checks that the receipt keeps from running: its payload is private or erased, or a part is not in the file. */
  missing: AttestationCheckName[];
  /** Parsed payload; null if it is hidden, erased or not a statement. */
  statement: ActionStatement | null;
  /** Bad news in an authentic record; empty if a check failed, as nothing the record says counts then. */
  warnings: Warning[];
  /** Proven bounds on when it was made; null without a trusted source, or if a check failed. */
  madeAfter: TimeBound | null;
  madeBefore: TimeBound | null;
}

/** Never throws for anything in the receipt. `parsed`: the result of parseActionStatement for its payload, if it is known. */
export async function verifyAttestation(
  receipt: Receipt,
  trust: Trust,
  costly: CostlyChecks,
  parsed?: ActionStatement | null,
): Promise<AttestationReport> {
  const payload = typeof receipt.payload === "string" ? null : receipt.payload;
  const subject: Subject = {
    receipt,
    trust,
    payload,
    ownHash: sha256(payload ?? new Uint8Array()),
    statement: parsed !== undefined ? parsed : payload && parseActionStatement(payload),
    key: trust.keys.find(
      ({ keyId, logOrigin = trust.logKey.name }) =>
        keyId === receipt.keyId && logOrigin === trust.logKey.name,
    ),
    verify: trust.verifySignature ?? verifyEd25519Strict,
    checkpoint: verifyCheckpoint(receipt.log.checkpoint, trust.logKey, trust.verifySignature),
  };
  const zk = watchZkKey(costly);
  const bounds: Record<"not_before" | "not_after", TimeBound | null> = { not_before: null, not_after: null };
  const keepBound = async (name: keyof typeof bounds, found: Promise<TimeOutcome>) => {
    const { outcome, bound } = await found;
    bounds[name] = bound;
    return outcome;
  };
  const run: Record<AttestationCheckName, () => RecordOutcome | Promise<RecordOutcome>> = {
    payload_hash: () => checkPayloadHash(subject),
    signature: () => checkSignature(subject),
    key_validity: () => checkKeyValidity(subject),
    log_inclusion: () => checkLogInclusion(subject),
    checkpoint_signature: () => checkCheckpointSignature(subject),
    agent_signature: () => checkAgent(subject),
    code_hash: () => checkCode(subject),
    tools: () => checkToolsUsed(subject),
    human_authorization: () => checkHumanAuthorization(subject, costly),
    zk_proof: () => checkZkProof(subject, zk.checks),
    record: () => checkAgentRecord(subject),
    not_before: () =>
      isUntimed(subject)
        ? skip("no_lower_bound")
        : keepBound(
            "not_before",
            import("./time-checks").then(({ checkNotBefore }) => checkNotBefore(subject, costly)),
          ),
    not_after: () =>
      isUntimed(subject)
        ? skip("no_upper_bound")
        : keepBound(
            "not_after",
            import("./time-checks").then(({ checkNotAfter }) => checkNotAfter(subject)),
          ),
  };
  const checks: AttestationCheck[] = [];
  const missing: AttestationCheckName[] = [];
  for (const name of attestationChecks) {
    const found = run[name]();
    const { isMissing, ...outcome } = found instanceof Promise ? await found : found;
    checks.push({ name, ...outcome });
    if (isMissing) missing.push(name);
  }
  const isWhole =
    checks.length === attestationChecks.length && checks.every(({ status }) => status !== "fail");
  const valid = isWhole && missing.length > 0 ? null : isWhole;
  const warnings = isWhole ? await listWarnings(subject, zk.isKeyRevoked()) : [];
  const [madeAfter, madeBefore] = isWhole ? [bounds.not_before, bounds.not_after] : [null, null];
  return { valid, checks, missing, statement: subject.statement, warnings, madeAfter, madeBefore };
}

function watchZkKey(costly: CostlyChecks) {
  let isKeyRevoked = false;
  const checks: CostlyChecks = {
    ...costly,
    verifyZkProof: async (zkProof, expected) => {
      const report = await costly.verifyZkProof(zkProof, expected);
      isKeyRevoked = report.isKeyRevoked;
      return report;
    },
  };
  return { checks, isKeyRevoked: () => isKeyRevoked };
}

/** No third party vouches for its time: what judges such evidence is not loaded then. */
function isUntimed({ receipt: { time }, payload, statement }: Subject): boolean {
  const hasEvidence = time !== "absent" && (time.checkpoint !== null || time.anchors.length > 0);
  return (
    payload !== null && statement !== null && statement.predicate.not_before === undefined && !hasEvidence
  );
}

function mayStatementWarn({
  human_approval: approval,
  verdicts,
  agent_frozen_at: frozenAt,
  trace,
}: ActionPredicate): boolean {
  const { client_gap: isGap = false, ...compared } = verdicts;
  return (
    approval.method !== "none" ||
    isGap ||
    frozenAt !== undefined ||
    trace !== undefined ||
    Object.values(compared).includes(false)
  );
}

/** Cheap test that never misses a warning, so that rules and words are loaded only when needed. */
function mayWarn({ receipt, trust, statement }: Subject): boolean {
  return (
    receipt.payload === "erased" ||
    trust.keys.some(({ isRevoked }) => isRevoked) ||
    (statement !== null && mayStatementWarn(statement.predicate))
  );
}

async function listWarnings(subject: Subject, isZkKeyRevoked: boolean): Promise<Warning[]> {
  if (!mayWarn(subject) && !isZkKeyRevoked) return [];
  const { drawWarnings, factsOfStatement } = await import("#lib/protocol/statement/warnings");
  const { receipt, trust, statement } = subject;
  const { toolManifest: manifest } = receipt;
  const signed =
    statement === null ? {} : factsOfStatement(statement.predicate, manifest === "absent" ? null : manifest);
  return drawWarnings({
    ...signed,
    isSigningKeyRevoked: trust.keys.some(({ keyId, isRevoked }) => isRevoked && keyId === receipt.keyId),
    isZkKeyRevoked,
    isErased: receipt.payload === "erased",
  });
}
