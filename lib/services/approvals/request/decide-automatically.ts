/**
 * A request that no person is asked about: made, decided and logged in one transaction, the sequencer's. What decides (a
 * standing approval's uses, the day's sums) is read there under the organization's lock, so requests made at once are
 * counted one after another and never pass a limit together.
 */

import { sql } from "drizzle-orm";
import type { Actor } from "#lib/api/http/context";
import type { Executor } from "#lib/db/client";
import type { authorizationRequests } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { type LogEntryKind, type Placed, submitSigned } from "#lib/log/sequencer/entry";
import type { Signer } from "#lib/log/signing/signing-keys";
import type { Decider } from "#lib/protocol/approval/decided-by";
import type { Context } from "#lib/services/approvals/context";
import { buildDecision, type DecisionLeaf, storeDecision } from "#lib/services/approvals/decision/store";

export interface MadeAtOnce<Answer> {
  requestId: string;
  requestHash: string;
  agentId: string;
  decision: "approved" | "denied";
  decidedAt: Date;
  object: Uint8Array | null;
  decidedBy: Decider | null;
  isClaimed: boolean;
  /** Rows that are sent in order: a failure fails the transaction. */
  written: Promise<unknown>;
  answer: Answer;
}

/** Another decider than before the transaction: the request goes the other way. */
export class DecidedOtherwise extends AppError {
  constructor() {
    super("service_unavailable", "what decides this request was changed at the same moment; try again");
  }
}

interface AtOnceItem extends DecisionLeaf {
  make(tx: Executor, signer: Signer): Promise<MadeAtOnce<unknown>>;
  signer: Signer;
  made: MadeAtOnce<unknown> | null;
  /** If it is claimed: as it was stored. */
  row: typeof authorizationRequests.$inferSelect | null;
}

async function admit(tx: Executor, items: AtOnceItem[]): Promise<(AppError | null)[]> {
  const verdicts: (AppError | null)[] = [];
  for (const item of items) {
    try {
      // Sent after the rows of the request before, which its reads see and its rollback leaves.
      const [made] = await Promise.all([item.make(tx, item.signer), tx.execute(sql`SAVEPOINT request`)]);
      made.written.catch(() => {});
      item.made = made;
      item.agentId = made.agentId;
      verdicts.push(null);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      await tx.execute(sql`ROLLBACK TO SAVEPOINT request`);
      verdicts.push(error);
    }
  }
  return verdicts;
}

const actors: Record<string, string> = { freeze: "freeze", grant: "standing approval" };
const describeActor = (decidedBy: Decider | null): Actor => ({
  kind: "system",
  id: actors[decidedBy?.kind ?? ""] ?? "rules",
  ip: null,
});

async function store(tx: Executor, placed: Placed<AtOnceItem>[]): Promise<void> {
  for (const one of placed) {
    const { requestId, decision, decidedBy, isClaimed, written } = requireMade(one.item);
    const stored = { requestId, decision, actor: describeActor(decidedBy) };
    const [row] = await Promise.all([storeDecision(tx, one, stored, isClaimed), written]);
    one.item.row = row;
  }
}

const atOnceKind: LogEntryKind<AtOnceItem> = {
  kind: "decision",
  locksOrganizations: true,
  admit,
  store,
};

function requireMade(item: AtOnceItem): MadeAtOnce<unknown> {
  if (item.made === null) throw new Error("a request that was not made has a place in the log");
  return item.made;
}

/** `make` runs in the sequencer's transaction; it throws {@link DecidedOtherwise} if people must be asked. */
export async function decideAutomatically<Answer>(
  context: Context,
  organizationId: string,
  make: (tx: Executor, signer: Signer) => Promise<MadeAtOnce<Answer>>,
): Promise<{ answer: Answer; row: AtOnceItem["row"] }> {
  const { item } = await submitSigned(context, atOnceKind, async () => {
    const { signer } = context.keys;
    const made: AtOnceItem = {
      context,
      organizationId,
      make,
      signer,
      made: null,
      row: null,
      keyId: signer.keyId,
      build: (place) => buildDecision(signer, requireMade(made), place),
    };
    return made;
  });
  return { answer: requireMade(item).answer as Answer, row: item.row };
}
