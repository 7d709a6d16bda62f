/**
 * Evidence packs as a service makes them whose keys the test has: everything in them is signed and in the log, also what an
 * honest service would never sign.
 */
import { ed25519 } from "@noble/curves/ed25519.js";
import { createLocalSigner } from "#lib/log/signing/signing-keys";
import {
  type ApprovalRequest,
  buildAuthorization,
  type HumanAuthorization,
} from "#lib/protocol/approval/approval";
import { buildDecisionStatement, type Decision } from "#lib/protocol/approval/approval-decision";
import { describeBacking } from "#lib/protocol/approval/assign-groups";
import type { DecidedByGrant, GrantTerms } from "#lib/protocol/approval/decided-by";
import {
  buildPlantedStatement,
  type PackedPlanted,
  type PlantedEntry,
  type PlantedStatement,
  plantedHash,
  plantedOrganization,
} from "#lib/protocol/approval/planted";
import {
  base64Decode,
  base64Encode,
  concatBytes,
  hexEncode,
  sha256,
  utf8Encode,
} from "#lib/protocol/encoding/bytes";
import { canonicalBytes, canonicalHash, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { CHANGE_FILE_TYPE, DECISION_FILE_TYPE } from "#lib/protocol/pack/pack-entries";
import { encodePackJson, numberedFile, packFiles } from "#lib/protocol/pack/pack-manifest";
import { buildRosterStatement } from "#lib/protocol/passkey/roster";
import { buildRulesetStatement, type RulesetVersion } from "#lib/protocol/policy/replay";
import { type RuleContext, ruleContextHash, rulesetHash } from "#lib/protocol/policy/rule-context";
import type { PastRequest } from "#lib/protocol/policy/suggest";
import {
  type AgentChangeKind,
  agentTag,
  buildChangeStatement,
  buildHeadsStatement,
  buildHeadsTree,
} from "#lib/protocol/record/agent-heads";
import { emptyRecord, encodeUint64, extendRecord } from "#lib/protocol/record/agent-record";
import { signEnvelope } from "#lib/protocol/statement/dsse";
import { type ActionPredicate, buildActionStatement } from "#lib/protocol/statement/statement";
import { encodeVerifierKey, makeVerifierKey, signCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { encodeLogLeaf, makeLogLeaf } from "#lib/protocol/tlog/log-leaf";
import { consistencyRanges, inclusionRanges, leafHash, rootOfLeafHashes } from "#lib/protocol/tlog/merkle";
import { enrolledRequest, groupId, makePasskeyApproval, testRoster } from "./enrolled-approvals";
import { signForTest, testFacts, testKeyId } from "./human-authorization";
import { forge, type Json, type PackedFiles } from "./packs";

const service = createLocalSigner(Buffer.alloc(32, 7).toString("base64"), "test");
const log = createLocalSigner(Buffer.alloc(32, 8).toString("base64"), "test");
const origin = "countersign.example/log";
const logKey = makeVerifierKey(origin, 1, log.publicKey);
const agentSecret = new Uint8Array(32).fill(3);
const agentKey = base64Encode(ed25519.getPublicKey(agentSecret));
const agent_id = "019a0000-0000-7000-8000-000000000003";
const idOf = (n: number) => `019a0000-0000-7000-8000-${String(n).padStart(12, "0")}`;
const saltOf = (n: number) => base64Encode(new Uint8Array(16).fill(n));
const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

const signedSlug = enrolledRequest.agent_slug;
export const signedPeriod = { from: "2026-11-21T00:00:00.000Z", to: "2026-11-22T00:00:00.000Z" };
/** 08:06 and so many seconds. */
export const timeAt = (second: number) =>
  new Date(Date.parse(testFacts.approved_at) + second * 1_000).toISOString();

const { tool: _tool, amount: _amount, ...bare } = enrolledRequest;

export const signedTerms: GrantTerms = {
  tools: ["bank.transfer"],
  max_calls: 3,
  max_amount: "50",
  max_budget: "100",
  currency: "EUR",
  expires_at: "2026-11-21T20:00:00.000Z",
};

/** An approval by three enrolled approvers. */
export function approveByPeople(number: number, second: number, more: Partial<ApprovalRequest> = {}) {
  const request = { ...bare, request_id: `areq_${number}`, salt: saltOf(number), ...more };
  const approvals = [0, 1, 2].map((person) => makePasskeyApproval(request, testRoster, person));
  return signForTest(buildAuthorization(request, { ...testFacts, approvals, approved_at: timeAt(second) }));
}

/** A use of a standing approval. */
export function approveByGrant(
  grant: HumanAuthorization,
  number: number,
  second: number,
  { amount = "20", ...by }: Partial<DecidedByGrant> & { amount?: string },
  more: Partial<ApprovalRequest> = {},
) {
  const decided_by: DecidedByGrant = {
    ...{ kind: "grant", request_hash: grant.binding.request_hash, use: 1, of: 3, spent: amount },
    authorization_hash: canonicalHash(withoutLog(grant)),
    ...{ budget: "100", currency: "EUR", ...by },
  };
  const request = {
    ...{ ...bare, request_id: `areq_${number}`, salt: saltOf(number), tool: "bank.transfer" },
    amount: { value: amount, currency: "EUR" },
    ...more,
  };
  const facts = { ...testFacts, approvals: [], decided_by, approved_at: timeAt(second) };
  return signForTest(buildAuthorization(request, facts));
}

const withoutLog = ({ log: _log, ...object }: HumanAuthorization) => object as unknown as JsonObject;

const pickShown = ({ agent_slug, action, inputs_hash }: JsonObject) => ({ agent_slug, action, inputs_hash });

interface Attested {
  /** The agent's own number, and whether it is said not to follow the last one. */
  client?: [number, boolean];
  /** Signed by the agent: equal ones have one signature. */
  isSigned?: boolean;
  said?: Partial<ActionPredicate>;
  approval?: HumanAuthorization;
}

export function createSignedLog() {
  const leaves: Uint8Array[] = [];
  const roots: Uint8Array[] = [];
  const used = new Set<number>();
  const files: PackedFiles = new Map();
  const listed: Json[] = [];
  const statements: Json[] = [];
  /** Hash of the request → the object with its log entry. */
  const logged = new Map<string, JsonObject>();
  let head = emptyRecord(agent_id);

  async function append(payload: Uint8Array) {
    const envelope = await signEnvelope(payload, service.publicKey, (bytes) => service.sign(bytes));
    const entry = encodeLogLeaf(makeLogLeaf(envelope, service.publicKey));
    const index = leaves.push(leafHash(entry)) - 1;
    const size = index + 1;
    const root = rootOfLeafHashes(leaves);
    roots[size] = root;
    used.add(size);
    const proof = inclusionRanges(index, size).map(([from, to]) => rootOfLeafHashes(leaves.slice(from, to)));
    const checkpoint = await signCheckpoint({ origin, size, root }, logKey, (bytes) => log.sign(bytes));
    return {
      signed: {
        payload: textOf(payload),
        signature: base64Encode(service.sign(payload)),
        envelope_signature: base64Encode(envelope.signature),
        key_id: testKeyId,
      },
      log: {
        ...{ origin, index, tree_size: size, entry: base64Encode(entry) },
        ...{ inclusion_proof: proof.map(base64Encode), checkpoint },
      },
    };
  }
  const place = () => ({ agent_id, sequence: head.sequence + 1, previous: hexEncode(head.link) });
  function list(payload: Uint8Array, entry: object): void {
    head = extendRecord(head, sha256(payload));
    const { sequence } = head;
    const shown = {
      payload_hash: hexEncode(sha256(payload)),
      log_origin: origin,
      log_index: leaves.length - 1,
    };
    listed.push({ sequence, ...shown, ...entry });
  }
  const write = (name: string, json: object) => files.set(name, encodePackJson(json));

  const built = {
    files,
    get number() {
      return head.sequence;
    },
    async state(payload: Uint8Array) {
      const { signed, log: at } = await append(payload);
      used.delete(at.tree_size);
      statements.push({ number: statements.length + 1, ...signed, log_origin: origin, log_index: at.index });
      return { ...signed, log: at };
    },
    stateRoster: () => built.state(buildRosterStatement(testRoster.head, testKeyId)),
    stateRules: (text: string, more: Partial<RulesetVersion> = {}) =>
      built.state(
        buildRulesetStatement({
          ...{ organization: enrolledRequest.organization, number: 1, previous: null, mode: "enforce" },
          ...{ ruleset_hash: rulesetHash(text), fallback: "ask", changed_at: timeAt(0), key_id: testKeyId },
          ...more,
        }),
      ),
    async decide(
      decision: Decision["decision"],
      second: number,
      {
        approval,
        request = approval?.request,
        ...more
      }: {
        approval?: HumanAuthorization;
        request?: ApprovalRequest | undefined;
        decided_by?: JsonObject;
        rules?: JsonObject;
        derivation?: JsonObject;
      },
    ) {
      const record = place();
      const request_hash = canonicalHash((request ?? {}) as unknown as JsonObject);
      const payload = buildDecisionStatement({
        ...{
          decision,
          request_hash,
          decided_at: approval?.approved_at ?? timeAt(second),
          key_id: testKeyId,
          record,
        },
        authorization_hash: approval ? canonicalHash(withoutLog(approval)) : null,
      });
      const { signed, log: at } = await append(payload);
      list(payload, { kind: "decision", visibility: "private" });
      const object = approval ? { ...withoutLog(approval), log: { ...at, record } } : null;
      if (object !== null) logged.set(request_hash, object);
      write(numberedFile("decisions", head.sequence), {
        ...{ type: DECISION_FILE_TYPE, sequence: head.sequence, request_id: request?.request_id ?? null },
        ...{ payload_hash: hexEncode(sha256(payload)), ...signed, log: { ...at, record } },
        ...{ request: request ?? null, human_authorization: object, ...more },
      });
    },
    async change(change: AgentChangeKind, second: number, request?: ApprovalRequest) {
      const record = place();
      const request_hash = request ? canonicalHash(request as unknown as JsonObject) : null;
      const changed = {
        change,
        changed_at: timeAt(second),
        key_id: testKeyId,
        reason_hash: null,
        request_hash,
      };
      const payload = buildChangeStatement({ ...changed, record });
      const { signed, log: at } = await append(payload);
      list(payload, { kind: "agent_change", visibility: "private" });
      write(numberedFile("decisions", head.sequence), {
        ...{ type: CHANGE_FILE_TYPE, sequence: head.sequence, request_id: request?.request_id ?? null },
        ...{ payload_hash: hexEncode(sha256(payload)), ...signed, log: { ...at, record } },
        ...{ reason: null, reason_salt: null },
      });
    },
    async attest(second: number, { client, isSigned, said, approval }: Attested = {}) {
      const record = place();
      const object = approval && logged.get(approval.binding.request_hash);
      const { organization, agent_slug, action, inputs_hash = "" } = approval?.request ?? enrolledRequest;
      const request = {
        ...{ agent_slug, action, inputs_hash },
        ...(client && { client: { instance: "a", sequence: client[0] } }),
        ...(object && { human_authorization_hash: canonicalHash(object) }),
      };
      const attestation_id = idOf(100 + head.sequence);
      const predicate: ActionPredicate = {
        ...{ attestation_id, timestamp: timeAt(second), key_id: testKeyId, organization, is_public: true },
        ...{ salt: saltOf(head.sequence), record, request },
        registered: {
          agent_public_key: isSigned ? agentKey : null,
          code_hash: null,
          tool_manifest_hash: null,
        },
        ...(isSigned && {
          agent_signature: base64Encode(ed25519.sign(canonicalBytes(request), agentSecret)),
        }),
        verdicts: {
          ...{
            agent_authenticated: isSigned ? true : null,
            code_hash_verified: null,
            tools_authorized: null,
          },
          ...(client && { client_gap: client[1] }),
        },
        human_approval: (object && describeBacking(object)) || { method: "none" },
        ...said,
      };
      const payload = buildActionStatement(predicate);
      const { signed, log: at } = await append(payload);
      list(payload, { kind: "attestation", visibility: "public", attestation_id, public_url: "" });
      write(numberedFile("attestations", head.sequence), {
        ...{ attestation_id, timestamp: predicate.timestamp, is_public: true },
        ...pickShown(predicate.request),
        ...{ payload_hash: hexEncode(sha256(payload)), ...signed, record, log: at },
        ...(object && { human_authorization: object }),
      });
    },
    /** Makes a pack with a signed count that ends with the last entry, unless `isCounted` is false. */
    async pack({ isCounted = true, change = (_: PackedFiles) => {} } = {}): Promise<Uint8Array> {
      const rows = concatBytes(
        agentTag(base64Decode(saltOf(9)), agent_id),
        encodeUint64(head.sequence),
        head.link,
      );
      const covers_size = leaves.length;
      const counted = {
        ...{ log_origin: origin, covers_size, statements: statements.length, earlier_size: 0 },
        ...{ at: signedPeriod.to, signed_by: testKeyId },
      };
      const statement =
        isCounted && head.sequence > 0
          ? await built.state(buildHeadsStatement(buildHeadsTree(rows), counted))
          : null;
      if (statement) used.add(statement.log.tree_size);
      const snapshot = statement && {
        ...{ rows_url: `https://countersign.example/log/agent-heads/${covers_size}`, salt: saltOf(9) },
        ...{ row: base64Encode(rows), row_index: 0, inclusion_proof: [], statement },
      };
      write(numberedFile("record", 1), {
        ...{ slug: signedSlug, agent_id, entries: listed, next: null },
        ...{ head: { sequence: head.sequence, link: hexEncode(head.link) }, ...(snapshot && { snapshot }) },
      });
      if (snapshot) files.set(packFiles.rows, rows);
      write(numberedFile("statements", 1), { statements, next: null });
      const key = { key_id: testKeyId, public_key: base64Encode(service.publicKey), log_origin: origin };
      write(packFiles.keys, {
        keys: [{ ...key, valid_from_index: 0, valid_to_index: null, status: "active" }],
        log: { origin, vkey: encodeVerifierKey(logKey) },
      });
      const sizes = [...used].sort((a, b) => a - b);
      const prove = (from: number, to: number) =>
        consistencyRanges(from, to).map(([start, end]) =>
          base64Encode(rootOfLeafHashes(leaves.slice(start, end))),
        );
      write(packFiles.log, {
        checkpoints: [],
        consistency: sizes.slice(1).map((to, i) => {
          const from = sizes[i] ?? 0;
          return { origin, from, to, proof: prove(from, to) };
        }),
      });
      files.set(packFiles.verifier, utf8Encode("// The verifier, which is left out here.\n"));
      write(packFiles.manifest, { period: signedPeriod });
      const made = new Map(files);
      change(made);
      return forge(made, true);
    },
  };
  return built;
}

/** Changes made before anything is hashed, to the log's copy and to the pack's file: honest by default. */
export interface PlantedLie {
  documents?: (schedules: PackedPlanted["schedules"]) => void;
  log?: (statements: PlantedStatement[]) => void;
  files?: (files: PackedFiles, planted: PackedPlanted) => void;
  statement?: (statement: Json) => void;
  hasNoApproval?: boolean;
  isLeftOut?: boolean;
  isCounted?: boolean;
}

export const plantedEntryHash = (n: number) => plantedHash(plantedEntry(n));
export const plantedEntry = (n: number): PlantedEntry => ({
  ...{ request_id: `areq_p${n}`, at: `2026-11-0${n + 1}T09:00:00.000Z`, salt: saltOf(n) },
  fact: (["payee", "amount", "agent"] as const)[n % 3] ?? "payee",
});

/** An approval, and planted requests of two groups: of five, one was approved and one wasn't opened. */
export async function makePlantedPack({
  documents,
  log,
  files: change,
  ...more
}: PlantedLie): Promise<Uint8Array> {
  const { organization } = enrolledRequest;
  const schedules = [["denied", "approved", null] as const, ["corrected", "withdrawn"] as const].map(
    (outcomes, number) => ({
      name: ["finance", "legal"][number] ?? "",
      schedule: {
        ...{ version: 1 as const, organization, group: groupId(number) },
        ...{ from: "2026-11-01T00:00:00.000Z", until: signedPeriod.to },
        entries: outcomes.map((_, n) => plantedEntryHash(3 * number + n)).sort(),
      },
      openings: outcomes.flatMap((outcome, n) => {
        if (outcome === null) return [];
        const entry = plantedEntry(3 * number + n);
        const request_hash = outcome === "withdrawn" ? null : `${number}${n}`.repeat(32);
        return [
          {
            version: 1 as const,
            schedule: "",
            entry,
            request_hash,
            outcome,
            ended_at: "2026-11-10T00:00:00.000Z",
          },
        ];
      }),
    }),
  );
  documents?.(schedules);
  const shared = { organization: plantedOrganization(organization), key_id: testKeyId };
  const statements = schedules.flatMap(({ schedule, openings }): PlantedStatement[] => {
    const digest = plantedHash(schedule);
    for (const one of openings) one.schedule ||= digest;
    return [
      { kind: "schedule", digest, ...shared, at: "2026-10-31T00:00:00.000Z", until: schedule.until },
      ...openings.map((one) => ({
        ...{ kind: "opening" as const, digest: plantedHash(one), ...shared },
        ...{ at: "2026-11-11T00:00:00.000Z", schedule: digest },
      })),
    ];
  });
  log?.(statements);
  const made = createSignedLog();
  await made.stateRoster();
  for (const one of statements) {
    const statement = JSON.parse(textOf(buildPlantedStatement(one)));
    more.statement?.(statement);
    await made.state(canonicalBytes(statement));
  }
  if (more.hasNoApproval) await made.attest(0);
  else await made.decide("approved", 0, { approval: approveByPeople(1, 0) });
  return made.pack({
    ...(more.isCounted === false && { isCounted: false }),
    change: (files) => {
      const planted: PackedPlanted = { version: 1, organization, schedules };
      change?.(files, planted);
      if (!files.has(packFiles.planted) && !more.isLeftOut)
        files.set(packFiles.planted, encodePackJson(planted));
    },
  });
}

/** Converts a request to the form that suggestions read. */
export const toPast = (request: ApprovalRequest, context: Record<string, string>): PastRequest => ({
  ...{ hash: canonicalHash(request as unknown as JsonObject), agent: request.agent_slug },
  ...{ action: request.action, tool: request.tool ?? null, amount: request.amount ?? null },
  ...{ context, isComplete: true, isHeld: false, isTest: false, outcome: "approved" },
  ...{ created_at: request.created_at, decided_at: timeAt(0) },
});

/** Context that rules saw of a request, and what they said. */
export function ruledBy(
  text: string,
  { agent_slug, action, tool, amount, created_at }: ApprovalRequest,
  context: Record<string, string>,
) {
  const at = new Date(created_at);
  const seen: RuleContext = {
    salt: saltOf(1),
    agent: { slug: agent_slug, name: null, key_registered: false, code_hash_known: false },
    ...{ tool: tool ?? null, action, context, requester: null, uses_today: 0, environment: "production" },
    amount: amount ? { ...amount, spent_today: "0", total_today: amount.value } : null,
    ...{ hour_utc: at.getUTCHours(), weekday_utc: at.getUTCDay() || 7 },
  };
  return {
    ...{ version: 1, mode: "enforce", ruleset_hash: rulesetHash(text), context_hash: ruleContextHash(seen) },
    ...{ decision: "ask", reason: "nothing_permits", policy_ids: [], context: seen as unknown as JsonObject },
  };
}
