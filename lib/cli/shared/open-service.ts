/** Opens the service for commands that change keys or logs. Makes no keys and no log: an empty database is refused. */
import { existsSync } from "node:fs";
import path from "node:path";
import { desc, eq, sql } from "drizzle-orm";
import { type Executor, queryRows } from "#lib/db/client";
import { logCheckpoints } from "#lib/db/schema";
import { openSharedClock, type SharedClock } from "#lib/db/shared-clock";
import { type Env, readEnv } from "#lib/env";
import { readOpenHead } from "#lib/log/reading/reader";
import { createLogSequencer, type LogSequencer } from "#lib/log/sequencer/sequencer";
import { preferActive, requireOrigin } from "#lib/log/signing/first-keys";
import type { Signer, Signers } from "#lib/log/signing/signing-keys";
import { logger } from "#lib/logger";
import { formatCount } from "#lib/protocol/text/display-text";
import { type OpenedLog, openLog } from "#lib/server/open-parts";
import { createRandom } from "#lib/server/secrets";
import type { UnknownApprovals } from "#lib/services/approvals/decision/revoke";

export interface CommandContext extends OpenedLog {
  env: Env;
  clock: () => Date;
  found: Partial<Signers>;
  openSequencer(logSigner: Signer): LogSequencer;
}

export async function withCommandContext<T>(work: (opened: CommandContext) => Promise<T>): Promise<T> {
  const env = readEnv();
  const isMissing = env.DATABASE_URL === undefined && !existsSync(path.join(env.DATA_DIR, "pglite"));
  if (isMissing)
    throw new Error(`There is no database in ${env.DATA_DIR}. Start the service first, or set DATA_DIR.`);
  const opened = await openLog(env);
  const { database, guard, lock, store, source, firstOrigin } = opened;
  let sharedClock: SharedClock | undefined;
  try {
    const open = await readOpenHead(database.db).catch((cause: unknown) => {
      throw new Error("This database is empty. Start the service on it first.", { cause });
    });
    requireOrigin(open, firstOrigin);
    const openSequencer = (logSigner: Signer) =>
      createLogSequencer({ database, keys: { logSigner }, guard, lock, random: createRandom(), logger });
    const { found } = await preferActive(database.db, source);
    sharedClock = await openSharedClock(database, logger);
    return await work({ ...opened, env, clock: sharedClock.now, found, openSequencer });
  } finally {
    sharedClock?.close();
    lock?.close();
    store?.close();
    await database.close();
  }
}

/* Lists in words whatever a database that lacks the newest entries brings back: only the operator can judge it. */

export function describeUnknown({ approvals, grants, waiting }: UnknownApprovals): string {
  const counts = [
    formatCount(approvals, "approval without an attestation", "approvals without an attestation"),
    formatCount(grants, "standing approval"),
    formatCount(waiting, "waiting request"),
  ];
  return counts.join(", ").replace(/, (?=[^,]*$)/, " and ");
}

export async function readHeldAt(executor: Executor, logId: number): Promise<Date | null> {
  const [last] = await executor
    .select({ at: logCheckpoints.created_at })
    .from(logCheckpoints)
    .where(eq(logCheckpoints.log_id, logId))
    .orderBy(desc(logCheckpoints.size))
    .limit(1);
  return last?.at ?? null;
}

interface Counts {
  keys: number;
  members: number;
  invitations: number;
  approvers: number;
  passkeys: number;
  rules: number;
  proposals: number;
  frozen: number;
  agents: number;
}

const countText = sql`SELECT
  (SELECT count(*)::int FROM api_keys WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())) AS keys,
  (SELECT count(*)::int FROM memberships) AS members,
  (SELECT count(*)::int FROM invitations WHERE accepted_at IS NULL AND expires_at > now()) AS invitations,
  (SELECT count(*)::int FROM approvers WHERE email IS NOT NULL AND status = 'confirmed') AS approvers,
  (SELECT count(*)::int FROM passkeys WHERE removed_at IS NULL) AS passkeys,
  (SELECT count(*)::int FROM (SELECT DISTINCT ON (organization_id) mode FROM rule_sets
    ORDER BY organization_id, number DESC) AS newest WHERE mode <> 'off') AS rules,
  (SELECT count(*)::int FROM rule_proposals) AS proposals,
  (SELECT count(*)::int FROM agents WHERE frozen_at IS NOT NULL) AS frozen,
  (SELECT count(*)::int FROM agents) AS agents`;

/** Describes, a line each, what may have been stopped since and works again. */
export async function describeRevived(executor: Executor, heldAt: Date | null): Promise<string[]> {
  const [counts] = await queryRows<Counts>(executor, countText);
  if (counts === undefined) return [];
  const { keys, members, invitations, approvers, passkeys, rules, proposals, frozen, agents } = counts;
  const since = heldAt === null ? "the backup" : heldAt.toISOString();
  return [
    `The database has everything else as it was at ${since}. Start the service where nobody else reaches it (HOST=127.0.0.1), and look at:`,
    `  keys: ${formatCount(keys, "API key")} ${keys === 1 ? "works" : "work"}. Delete again each that was deleted since.`,
    `  members: ${formatCount(members, "membership")} and ${formatCount(invitations, "open invitation")}. Remove again who was removed since.`,
    `  passkeys: ${formatCount(passkeys, "passkey")} of ${formatCount(approvers, "approver")}. Remove again each approver and passkey that was removed since.`,
    `  rules: ${formatCount(rules, "organization")} ${rules === 1 ? "has" : "have"} rules, and ${formatCount(proposals, "change")} of rules ${proposals === 1 ? "waits" : "wait"} for a second owner. Save again what was saved since.`,
    `  freezes: ${formatCount(frozen, "agent")} of ${agents} ${frozen === 1 ? "is" : "are"} frozen. Freeze again each that was frozen since, and register again keys and code that were replaced.`,
    "  erasures: erase again what was erased since.",
    "docs/operations.md, Backup and restore, has the steps.",
  ];
}
