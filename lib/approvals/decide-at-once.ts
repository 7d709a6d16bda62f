/**
 * A request that no person is asked about: made, decided and logged in one transaction, the sequencer's. What decides (a
 * standing approval's uses, the day's sums) is read there under the organization's lock, so requests made at once are
 * counted one after another and never pass a limit together.
 */
import { eq } from "drizzle-orm";
import { recordAudit } from "#lib/accounts/audit";
import {
  type ApprovalRequest,
  assembleAuthorization,
  authorizationSigningBytes,
  buildAuthorization,
} from "#lib/core/approval/approval";
import { buildDecisionStatement } from "#lib/core/approval/approval-decision";
import type { DecidedBy, Decider } from "#lib/core/approval/decided-by";
import { findEnvironment } from "#lib/core/approval/environment";
import { base64Encode, hexEncode, sha256 } from "#lib/core/encoding/bytes";
import { canonicalBytes, type JsonObject } from "#lib/core/encoding/canonical-json";
import type { WorldEnvironment } from "#lib/core/world-id/world-id-keys";
import type { Executor } from "#lib/db/client";
import { authorizationRequests } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import type { Actor } from "#lib/http/principal";
import { type LogItem, type LogItemKind, type Placed, requirePlace } from "#lib/log/sequencer/item";
import { sealStatement } from "#lib/log/sequencer/sign-statement";
import { submitSigned } from "#lib/log/sequencer/submit-signed";
import type { Signer } from "#lib/signing/signer";
import type { Context } from "./context";

/** What the transaction has made of a request. */
export interface MadeAtOnce<Answer> {
  request: ApprovalRequest;
  requestHashHex: string;
  agentId: string;
  decision: "approved" | "denied";
  decidedAt: Date;
  object: Uint8Array | null;
  decidedBy: Decider | null;
  answer: Answer;
}

/** Somebody else decides than it looked before the transaction: the request goes the other way. */
export class DecidedOtherwise extends AppError {
  constructor() {
    super("service_unavailable", "what decides this request was changed at the same moment; try again");
  }
}

interface AtOnceItem extends LogItem {
  context: Context;
  organizationId: string;
  make(tx: Executor, signer: Signer): Promise<MadeAtOnce<unknown>>;
  signer: Signer;
  made: MadeAtOnce<unknown> | null;
}

/** The signed object's canonical bytes, and until when it can be used. */
export function signUnasked(
  signer: Signer,
  request: ApprovalRequest,
  {
    decidedBy,
    decidedAt,
    environment,
  }: { decidedBy: DecidedBy; decidedAt: Date; environment: WorldEnvironment | null },
): { object: Uint8Array; usableUntil: string | null } {
  const unsigned = buildAuthorization(request, {
    decided_by: decidedBy,
    approvals: [],
    environment: environment ?? findEnvironment(request.origin, []),
    approved_at: decidedAt.toISOString(),
    key_id: signer.keyId,
  });
  const signature = base64Encode(signer.sign(authorizationSigningBytes(unsigned)));
  const object = canonicalBytes(assembleAuthorization(unsigned, signature) as unknown as JsonObject);
  return { object, usableUntil: unsigned.usable_until };
}

async function admit(tx: Executor, items: AtOnceItem[]): Promise<(AppError | null)[]> {
  const verdicts: (AppError | null)[] = [];
  for (const item of items) {
    try {
      // What it wrote before it was refused must not be committed with the others.
      item.made = await tx.transaction((within) => item.make(within, item.signer));
      item.agentId = item.made.agentId;
      verdicts.push(null);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      verdicts.push(error);
    }
  }
  return verdicts;
}

const actors: Record<string, string> = { freeze: "freeze", grant: "standing approval" };
const actorOf = (decidedBy: Decider | null): Actor => ({
  kind: "system",
  id: actors[decidedBy?.kind ?? ""] ?? "rules",
  ip: null,
});

async function store(tx: Executor, placed: Placed<AtOnceItem>[]): Promise<void> {
  for (const { item, logId, receipt, sealed, place } of placed) {
    const { request, decision, decidedBy } = requireMade(item);
    await tx
      .update(authorizationRequests)
      .set({
        decision_payload: sealed.payload,
        decision_signature: sealed.signature,
        decision_envelope_signature: sealed.envelopeSignature,
        decision_key_id: item.keyId,
        decision_log: JSON.stringify({ ...receipt, record: place?.record ?? null }),
        log_id: logId,
        leaf_index: receipt.index,
      })
      .where(eq(authorizationRequests.id, request.request_id));
    await recordAudit(item.context, tx, {
      organizationId: item.organizationId,
      actor: actorOf(decidedBy),
      action: `authorization.${decision}`,
      subject: request.request_id,
    });
  }
}

const atOnceKind: LogItemKind<AtOnceItem> = {
  kind: "decision",
  locksOrganizations: true,
  admit,
  store,
};

function requireMade(item: AtOnceItem): MadeAtOnce<unknown> {
  if (item.made === null) throw new Error("a request that was not made has a place in the log");
  return item.made;
}

function sealDecision(item: AtOnceItem, place: Parameters<LogItem["seal"]>[0]) {
  const { requestHashHex, decision, decidedAt, object } = requireMade(item);
  const statement = buildDecisionStatement({
    decision,
    request_hash: requestHashHex,
    decided_at: decidedAt.toISOString(),
    key_id: item.keyId,
    authorization_hash: object === null ? null : hexEncode(sha256(object)),
    record: requirePlace(place).record,
  });
  return sealStatement(item.signer, statement);
}

/** `make` runs in the sequencer's transaction; it throws {@link DecidedOtherwise} if people must be asked. */
export async function decideAtOnce<Answer>(
  context: Context,
  organizationId: string,
  make: (tx: Executor, signer: Signer) => Promise<MadeAtOnce<Answer>>,
): Promise<Answer> {
  const { item } = await submitSigned(context, atOnceKind, async () => {
    const { signer } = context.keys;
    const made: AtOnceItem = {
      context,
      organizationId,
      make,
      signer,
      made: null,
      keyId: signer.keyId,
      owner: organizationId,
      seal: (place) => sealDecision(made, place),
    };
    return made;
  });
  return requireMade(item).answer as Answer;
}
