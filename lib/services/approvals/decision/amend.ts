/**
 * A counter-offer (docs/decisions/0052): an approver changes what the agent named, the old request ends cancelled, and a
 * new one waits in its place, asked of people like any other. One transaction, the sequencer's, under the old one's row lock.
 */
import { and, eq } from "drizzle-orm";
import type { Actor } from "#lib/api/http/context";
import type { AmendBody } from "#lib/api/schemas/approval-view";
import type { Executor } from "#lib/db/client";
import { authorizationRequests, requestApprovers } from "#lib/db/schema";
import { AppError, fieldError } from "#lib/errors";
import { type LogEntryKind, type Placed, submitSigned } from "#lib/log/sequencer/entry";
import { applyChanges, type Changed, hashInputs, readInputs } from "#lib/protocol/approval/amendment";
import { type Amends, type ApprovalRequest, requestHash } from "#lib/protocol/approval/approval";
import { findPayee } from "#lib/protocol/approval/detail-names";
import type { PlantedOutcome } from "#lib/protocol/approval/planted";
import { contextHash, hashEntries, listDetails } from "#lib/protocol/approval/shown-content";
import { authorizationRequestId, base64Encode, hexEncode } from "#lib/protocol/encoding/bytes";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { lockOrganization } from "#lib/services/accounts/organizations";
import { agentFrozen } from "#lib/services/agents/identities";
import type { Context } from "#lib/services/approvals/context";
import { wakeupName } from "#lib/services/approvals/read";
import { computeFingerprint, type Hidden } from "#lib/services/approvals/request/build-request";
import { DecidedOtherwise } from "#lib/services/approvals/request/decide-automatically";
import {
  type Demands,
  judge,
  readStanding,
  type Standing,
} from "#lib/services/approvals/request/evaluate-policy";
import { notifyApprovers } from "#lib/services/approvals/request/notify-approvers";
import { applyJudged, insertRequest } from "#lib/services/approvals/request/request";
import { readRequester, requireEnrolled } from "#lib/services/approvals/request/required-groups";
import {
  type AuthorizationRow,
  approvalUrl,
  hashAsked,
  isOpen,
  type Planted,
  parseContext,
  parseGroupNames,
  parseRequest,
  parseRequestedBy,
} from "#lib/services/approvals/rows";
import { RulesOverdueError } from "#lib/services/policies/engine";
import { endPlanted, findDecidable } from "./decide";
import { countApprover, needsPasskey, type ProvenApprover, proveApprover } from "./passkey-approval";
import {
  buildDecision,
  ConcurrentApproval,
  type DecisionLeaf,
  lockOpen,
  notPending,
  storeDecision,
} from "./store";

interface Wanted {
  row: AuthorizationRow;
  old: ApprovalRequest;
  changed: Changed;
  approver: ProvenApprover | null;
  actor: Actor;
}

/** Never less than what the old request wanted. */
const keepDemands = (row: AuthorizationRow, old: ApprovalRequest): Demands => ({
  required_level: old.required_level,
  isLevelChosen: true,
  approvals_required: old.approvals_required,
  required_approvers: old.required_approvers,
  groupNames: parseGroupNames(row),
});

async function judgeChange(
  context: Context,
  executor: Executor,
  { row, old, changed }: Wanted,
  standing: Standing,
) {
  const own = keepDemands(row, old);
  const { amount: _before, inputs_hash: _hash, ...kept } = old;
  const inputs_hash = hashChanged(old, changed);
  const judged = await judge(context, executor, standing, {
    ...kept,
    organizationId: row.organization_id,
    ...(changed.amount && { amount: changed.amount }),
    ...(inputs_hash !== undefined && { inputs_hash }),
    context: changed.context,
    requester: parseRequestedBy(row)?.requester ?? null,
    isForPeople: true,
    own,
    createdAt: standing.at,
  });
  if (judged.decidedBy?.kind === "freeze") throw agentFrozen();
  if (judged.verdict === "denied")
    throw new AppError("rule_forbids", judged.denialReason ?? "a rule forbids this");
  return { judged, own, demands: applyJudged(own, judged) };
}

/** Hash of the changed arguments, which the details are. */
function hashChanged(old: ApprovalRequest, { context }: Changed): string | undefined {
  if (old.inputs_hash === undefined) return undefined;
  const inputs = readInputs(old.details, context);
  if (inputs === null) throw new Error("an amendable request whose details aren't its inputs");
  return hashInputs(inputs);
}

function buildAmended(
  context: Context,
  { old, changed, approver }: Wanted,
  { demands, hidden, createdAt }: { demands: Demands; hidden: Hidden; createdAt: Date },
): ApprovalRequest {
  const { amendable: _fields, amount: _amount, inputs_hash: _hash, ...kept } = old;
  const { salt: context_salt, names, requestedBy } = hidden;
  const shown = {
    context: changed.context,
    context_salt,
    ...names,
    requested_by: requestedBy as unknown as JsonObject,
  };
  const inputs_hash = hashChanged(old, changed);
  const amends: Amends = {
    request_hash: requestHash(old),
    fields: changed.fields,
    ...(approver && { by: approver.enrolled.approverId }),
  };
  return {
    ...kept,
    request_id: authorizationRequestId(context.random(16)),
    ...(changed.amount && { amount: changed.amount }),
    context_hash: contextHash(context_salt, changed.context, names, requestedBy),
    ...(inputs_hash !== undefined && { inputs_hash }),
    ...(old.entries_hash !== undefined && { entries_hash: hashEntries(shown) }),
    amends,
    required_level: demands.required_level,
    approvals_required: demands.approvals_required,
    required_approvers: demands.required_approvers,
    created_at: createdAt.toISOString(),
    salt: base64Encode(context.random(16)),
  };
}

interface AmendItem extends DecisionLeaf {
  requestId: string;
  actor: Actor;
  decidedAt: Date;
  /** Ends the old request and stores the new one. */
  make(tx: Executor): Promise<void>;
}

async function admit(tx: Executor, items: AmendItem[]): Promise<(AppError | null)[]> {
  const verdicts: (AppError | null)[] = [];
  for (const item of items) {
    try {
      // Roll back the writes of a refused change, so that they aren't committed with the others.
      await tx.transaction((within) => item.make(within));
      verdicts.push(null);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      verdicts.push(error);
    }
  }
  return verdicts;
}

async function store(tx: Executor, placed: Placed<AmendItem>[]): Promise<void> {
  for (const one of placed) await storeDecision(tx, one, { ...one.item, decision: "cancelled" });
}

const amendKind: LogEntryKind<AmendItem> = { kind: "decision", locksOrganizations: true, admit, store };

/** Ends the old request and creates the new one; returns the new one's id. */
async function replace(context: Context, tx: Executor, wanted: Wanted, item: AmendItem): Promise<string> {
  const { row, old, changed, approver, actor } = wanted;
  const { organization_id: organizationId, api_key_id: keyId } = row;
  await lockOrganization(tx, organizationId);
  const open = await lockOpen(tx, row.id);
  if (open === null) throw notPending();
  if (open.questions !== row.questions) throw new ConcurrentApproval();
  const refusal = approver && (await countApprover(tx, approver.enrolled));
  if (refusal !== null) throw refusal;
  const standing = await readStanding(tx, organizationId, {
    agent_slug: old.agent_slug,
    amount: changed.amount,
  });
  const { judged, own, demands } = await judgeChange(context, tx, wanted, standing);
  const isAskedOfGroups = old.required_approvers.length > 0;
  const requester = isAskedOfGroups
    ? { mayApprove: old.requester_may_approve, id: old.requester_id ?? null }
    : await readRequester(tx, { organizationId, keyId }, demands);
  await requireEnrolled(tx, demands, requester, own);
  const requestedBy = parseRequestedBy(row);
  if (requestedBy === null) throw new Error("the content of an open request is gone");
  const names = {
    agent_name: row.agent_name,
    organization_name: row.organization_name,
    group_names: demands.groupNames,
  };
  const hidden = { requestedBy, names, salt: base64Encode(context.random(16)) };
  const request: ApprovalRequest = {
    ...buildAmended(context, wanted, { demands, hidden, createdAt: standing.at }),
    requester_may_approve: requester.mayApprove,
    ...(requester.id !== null && { requester_id: requester.id }),
  };
  item.decidedAt = standing.at;
  const changes = await tx
    .update(authorizationRequests)
    .set({ status: "cancelled", decided_at: standing.at, amended_by: request.request_id })
    .where(and(eq(authorizationRequests.id, row.id), isOpen))
    .returning({ id: authorizationRequests.id });
  if (changes.length !== 1) throw notPending();
  const { action, tool, inputs_hash, amount, agent_slug } = request;
  const body = { agent_slug, action, tool, inputs_hash, amount, context: changed.context };
  const { written } = await insertRequest(
    context,
    tx,
    {
      principal: { organizationId, keyId, isTest: false },
      body: { ...body, callback_url: row.callback_url, require_code: row.require_code },
      actor,
      amends: row.id,
    },
    {
      request,
      hidden,
      judged,
      createdAt: standing.at,
      fingerprint: computeFingerprint(organizationId, body),
      status: "pending",
      decision: null,
    },
  );
  await written;
  const named = await tx
    .select({ id: requestApprovers.approver_id })
    .from(requestApprovers)
    .where(eq(requestApprovers.request_id, row.id));
  const added = demands.groupNames.slice(own.groupNames.length);
  await notifyApprovers(tx, { id: request.request_id, organizationId }, [
    ...named.map(({ id }) => id),
    ...added,
  ]);
  return request.request_id;
}

async function submit(context: Context, wanted: Wanted): Promise<string> {
  const { row, actor } = wanted;
  const { organization_id: organizationId, agent_id: agentId } = row;
  let amendedBy = "";
  await submitSigned(context, amendKind, async () => {
    const { signer } = context.keys;
    const item: AmendItem = {
      context,
      organizationId,
      requestId: row.id,
      agentId,
      actor,
      decidedAt: context.clock(),
      keyId: signer.keyId,
      make: async (tx) => {
        amendedBy = await replace(context, tx, wanted, item);
      },
      build: (place) =>
        buildDecision(
          signer,
          {
            decision: "cancelled",
            requestHash: hexEncode(row.request_hash),
            decidedAt: item.decidedAt,
            object: null,
            questionsHash: hashAsked(row),
          },
          place,
        ),
    };
    return item;
  });
  await context.wakeups.notify(wakeupName(row.id));
  return amendedBy;
}

/** A field's name has a dot in it, which is no step of its pointer. */
function refuseField({ field, problem: message }: { field: string; problem: string }): AppError {
  const errors = [{ pointer: `/changes/${field}`, message }];
  return new AppError("validation_error", `${field}: ${message}`, { errors });
}

async function readWanted(
  context: Context,
  requestId: string,
  { changes, passkey, code }: AmendBody,
  ip: string,
): Promise<Wanted> {
  const { row, actor } = await findDecidable(context, requestId, { code, ip });
  if (row.agentFrozenAt !== null) throw agentFrozen();
  const old = parseRequest(row);
  if (old.amendable === undefined)
    throw new AppError(
      "approval_refused",
      "nothing was changed: the agent named nothing that may be changed",
    );
  const changed = applyChanges(old, parseContext(row), changes);
  if ("problem" in changed) throw refuseField(changed);
  if (changed.fields.length === 0) throw fieldError("validation_error", "changes", "changes nothing");
  if (old.required_approvers.length === 0) return { row, old, changed, actor, approver: null };
  // A link that leaks changes nothing.
  if (!passkey) throw needsPasskey();
  const approver = await proveApprover(context, row, passkey, "amend");
  const by = { ...actor, id: `approver ${approver.record.approver_id}` };
  return { row, old, changed, actor: by, approver };
}

/** Judges a correction: one that changes only something else has overlooked what is wrong. */
function judgeCorrection({ fact }: Planted, { old, row, changed }: Wanted): PlantedOutcome {
  const context = parseContext(row);
  const payee = findPayee(context);
  const isPayee = (name: string) => payee !== null && context[name] === payee;
  const isCorrected =
    fact === "amount"
      ? changed.amount?.value !== old.amount?.value
      : fact === "payee" && listDetails(changed.fields).some(isPayee);
  return isCorrected ? "corrected" : "changed";
}

const maxAttempts = 5;

/** POST /approve/{token}/amend; returns the address of the new request's page. */
export async function amendAuthorization(
  context: Context,
  requestId: string,
  body: AmendBody,
  ip: string,
): Promise<{ request_id: string; approval_url: string }> {
  for (let attempt = 1; ; attempt += 1) {
    const wanted = await readWanted(context, requestId, body, ip);
    const { organization_id: organizationId, planted } = wanted.row;
    if (planted) {
      await endPlanted(
        context,
        wanted.row,
        judgeCorrection(planted, wanted),
        wanted.approver?.enrolled ?? null,
      );
      return { request_id: requestId, approval_url: approvalUrl(context, requestId) };
    }
    const asked = { agent_slug: wanted.old.agent_slug, amount: wanted.changed.amount };
    try {
      // Read before the locks, so that the rules' answer is cached when they are held.
      const standing = await readStanding(context.database.db, organizationId, asked);
      await judgeChange(context, context.database.db, wanted, standing);
      const request_id = await submit(context, wanted);
      return { request_id, approval_url: approvalUrl(context, request_id) };
    } catch (error) {
      const mayChange =
        error instanceof DecidedOtherwise ||
        error instanceof RulesOverdueError ||
        error instanceof ConcurrentApproval;
      if (!mayChange || attempt === maxAttempts) throw error;
    }
  }
}
