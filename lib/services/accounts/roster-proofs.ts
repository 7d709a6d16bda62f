/** The places of passkeys in their organization's roster, with the proofs that approvals carry. */
import { and, eq, inArray, or, sql } from "drizzle-orm";
import type { Executor } from "#lib/db/client";
import { approverGroups, approvers, deputies, passkeys } from "#lib/db/schema";
import { base64UrlEncode } from "#lib/protocol/encoding/bytes";
import { entryName, type Membership, proveMembership } from "#lib/protocol/passkey/roster";
import { isEnrolled, readLastRoster } from "./roster";

export interface RosterProof extends Membership {
  passkeyId: string;
  approver: { id: string; name: string; email: string };
  /** Approver in whose place the owner of the passkey decides; null by their own right. */
  deputyFor: { id: string; email: string } | null;
  /** WebAuthn level 3, section 7.2: it never changes. */
  backupEligible: boolean;
}

function selectOwner(executor: Executor, organizationId: string, credentialId: string) {
  return executor
    .select({
      passkeyId: passkeys.id,
      publicKey: passkeys.public_key,
      backupEligible: passkeys.backup_eligible,
      approverId: approvers.id,
      name: sql<string>`coalesce(${approvers.name}, ${approvers.email})`,
      email: sql<string>`${approvers.email}`,
    })
    .from(passkeys)
    .innerJoin(approvers, eq(approvers.id, passkeys.approver_id))
    .where(
      and(eq(passkeys.organization_id, organizationId), eq(passkeys.credential_id, credentialId), isEnrolled),
    );
}

const selectGroups = (executor: Executor, approverId: string) =>
  executor
    .select({ groupId: approverGroups.group_id })
    .from(approverGroups)
    .where(eq(approverGroups.approver_id, approverId));

/** Selects the people for whom this person decides now. */
const selectReplaced = (executor: Executor, deputyId: string) =>
  executor
    .select({ id: approvers.id, email: sql<string>`${approvers.email}`, until: deputies.ends_at })
    .from(deputies)
    .innerJoin(approvers, eq(approvers.id, deputies.approver_id))
    .where(
      and(
        eq(deputies.deputy_id, deputyId),
        eq(approvers.status, "confirmed"),
        sql`${deputies.starts_at} <= clock_timestamp() AND ${deputies.ends_at} > clock_timestamp()`,
      ),
    )
    .orderBy(deputies.approver_id);

/**
 * The places of an enrolled passkey, with an opening for each group that its owner is in now: first by their own right, then
 * as the deputy of others. Empty for one that is not enrolled, or not in a logged roster yet. `isHeld`: the passkey, its
 * owner, those for whom they decide and their groups stay so until the commit.
 */
export async function readRosterProofs(
  executor: Executor,
  organizationId: string,
  credentialId: string,
  { isHeld }: { isHeld: boolean },
): Promise<RosterProof[]> {
  const owner = selectOwner(executor, organizationId, credentialId);
  // The person before the passkey, as the trigger takes them when somebody leaves.
  const [row] = await (isHeld ? owner.for("no key update", { of: [approvers, passkeys] }) : owner);
  if (!row) return [];
  const replaced = selectReplaced(executor, row.approverId);
  const absent = await (isHeld ? replaced.for("share", { of: [deputies] }) : replaced);
  const last = await readLastRoster(executor, organizationId);
  const proofs: RosterProof[] = [];
  for (const deputyFor of [null, ...absent]) {
    const index =
      last?.entries.findIndex(
        ({ credential_id, deputy_for }) =>
          credential_id === credentialId && deputy_for?.approver_id === deputyFor?.id,
      ) ?? -1;
    const entry = last?.entries[index];
    if (!last || !entry || entry.public_key !== base64UrlEncode(row.publicKey)) continue;
    const groups = selectGroups(executor, deputyFor?.id ?? row.approverId);
    const current = await (isHeld ? groups.for("share") : groups);
    const isCurrent = new Set(current.map(({ groupId }) => groupId));
    const openings = last.details.openings[entryName(entry)] ?? [];
    proofs.push({
      head: last.head,
      entry,
      index,
      proof: proveMembership(last.entries, index),
      groups: openings.filter(({ group }) => isCurrent.has(group)),
      passkeyId: row.passkeyId,
      approver: { id: row.approverId, name: row.name, email: row.email },
      deputyFor,
      backupEligible: row.backupEligible,
    });
  }
  return proofs;
}

/** The people of these groups who have a passkey, by id, each with those of the groups that they are in. */
export async function readEnrolledMembers(
  executor: Executor,
  groupIds: readonly string[],
): Promise<Map<string, string[]>> {
  if (groupIds.length === 0) return new Map();
  const rows = await executor
    .select({
      approverId: approverGroups.approver_id,
      groups: sql<string[]>`array_agg(DISTINCT ${approverGroups.group_id}::text)`,
    })
    .from(approverGroups)
    .innerJoin(passkeys, eq(passkeys.approver_id, approverGroups.approver_id))
    .innerJoin(approvers, eq(approvers.id, passkeys.approver_id))
    .where(and(inArray(approverGroups.group_id, [...groupIds]), isEnrolled))
    .groupBy(approverGroups.approver_id);
  return new Map(rows.map(({ approverId, groups }) => [approverId, groups]));
}

/**
 * Notes that a passkey has signed, once for each signature: a counter that did not grow is of a copy (WebAuthn level 3,
 * section 7.2, step 22). False then, and for a passkey that was removed; authenticators without a counter always say 0.
 */
export async function notePasskeyUse(
  tx: Executor,
  passkeyId: string,
  { signCount, backedUp }: { signCount: number; backedUp: boolean },
): Promise<boolean> {
  const hasGrown = sql`${passkeys.sign_count} < ${signCount}`;
  const hasNone = sql`${passkeys.sign_count} = 0 AND ${signCount} = 0`;
  const noted = await tx
    .update(passkeys)
    .set({ sign_count: signCount, backed_up: backedUp, last_used_at: sql`now()` })
    .where(and(eq(passkeys.id, passkeyId), sql`${passkeys.removed_at} IS NULL`, or(hasGrown, hasNone)))
    .returning({ id: passkeys.id });
  return noted.length === 1;
}
