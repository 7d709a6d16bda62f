/** The domains of an organization: added, proven, checked again and removed. Members see them, owners change them. */

import { and, asc, count, eq, isNotNull, lte } from "drizzle-orm";
import { enforceLimit } from "#lib/api/http/limits";
import { type Actor, actorOf, type MemberPrincipal } from "#lib/api/http/principal";
import { organizationDomains } from "#lib/db/schema";
import { fieldError } from "#lib/errors";
import { hexEncode } from "#lib/protocol/encoding/bytes";
import { uuidV7 } from "#lib/protocol/encoding/ids";
import { recordAudit } from "./audit";
import type { AccountsContext } from "./context";
import { parseDomainName, toUnicode } from "./domain-name";
import { fileUrl, lookForProof, proofLine, recordName } from "./domain-proof";
import { settleCheck } from "./domain-rule";
import { mailOwners } from "./mail-owners";
import { domainLostMail } from "./mails";
import { holdRole, personNotFound, requireRole } from "./members";

/** All of them are on the approval page. */
const maxDomains = 5;
const checksPerHour = 30;
const dayMs = 86_400_000;
/** So many are checked at once, so that those that give no answer don't delay the others by much. */
const batch = 16;

type Row = typeof organizationDomains.$inferSelect;

function describeDomain(row: Row) {
  return {
    id: row.id,
    domain: row.domain,
    unicode: toUnicode(row.domain),
    recordName: recordName(row.domain),
    fileUrl: fileUrl(row.domain),
    line: proofLine(row.token),
    verifiedSince: row.verified_since?.toISOString() ?? null,
    foundAt: row.found_at?.toISOString() ?? null,
    foundIn: row.found_in,
    checkedAt: row.checked_at?.toISOString() ?? null,
    problem: row.problem,
  };
}

export type DomainView = ReturnType<typeof describeDomain>;

export async function listDomains(context: AccountsContext, person: MemberPrincipal): Promise<DomainView[]> {
  const { db } = context.database;
  await requireRole(db, person, "member");
  const rows = await db
    .select()
    .from(organizationDomains)
    .where(eq(organizationDomains.organization_id, person.organizationId))
    .orderBy(asc(organizationDomains.domain));
  return rows.map(describeDomain);
}

export async function addDomain(
  context: AccountsContext,
  person: MemberPrincipal,
  text: string,
): Promise<void> {
  const { organizationId } = person;
  const domain = parseDomainName(text);
  if (domain === null)
    throw fieldError(
      "validation_error",
      "domain",
      "must be a domain that can be registered, like example.com",
    );
  const now = context.clock();
  await context.database.db.transaction(async (tx) => {
    await holdRole(tx, person, "owner");
    const [held] = await tx
      .select({ count: count() })
      .from(organizationDomains)
      .where(eq(organizationDomains.organization_id, organizationId));
    if ((held?.count ?? 0) >= maxDomains)
      throw fieldError(
        "validation_error",
        "domain",
        `is one too many: an organization can have ${maxDomains}`,
      );
    const added = await tx
      .insert(organizationDomains)
      .values({
        id: uuidV7(now.getTime(), context.random(16)),
        organization_id: organizationId,
        domain,
        token: hexEncode(context.random(16)),
        created_at: now,
      })
      .onConflictDoNothing()
      .returning({ id: organizationDomains.id });
    if (added.length === 0) throw fieldError("validation_error", "domain", "is already in the list");
    const actor = actorOf(person);
    await recordAudit(context, tx, { organizationId, actor, action: "domain.added", subject: domain });
  });
}

const isOwn = (person: MemberPrincipal, id: string) =>
  and(eq(organizationDomains.id, id), eq(organizationDomains.organization_id, person.organizationId));

export async function removeDomain(
  context: AccountsContext,
  person: MemberPrincipal,
  id: string,
): Promise<void> {
  const { organizationId } = person;
  await context.database.db.transaction(async (tx) => {
    await holdRole(tx, person, "owner");
    const [gone] = await tx.delete(organizationDomains).where(isOwn(person, id)).returning();
    if (!gone) throw personNotFound();
    const actor = actorOf(person);
    await recordAudit(context, tx, { organizationId, actor, action: "domain.removed", subject: gone.domain });
  });
}

interface Checked {
  row: Row;
  isLost: boolean;
}

/** Asks outside of any transaction; what is written follows from the row as it is then. Null if it was removed meanwhile. */
async function check(
  context: AccountsContext,
  { id, domain, token }: Pick<Row, "id" | "domain" | "token">,
  actor: Actor,
): Promise<Checked | null> {
  const findings = await lookForProof(context.domainProbe, domain, token);
  return context.database.db.transaction(async (tx) => {
    const [before] = await tx
      .select()
      .from(organizationDomains)
      .where(eq(organizationDomains.id, id))
      .for("update");
    if (!before) return null;
    const [after] = await tx
      .update(organizationDomains)
      .set(settleCheck(before, findings, context.clock()))
      .where(eq(organizationDomains.id, id))
      .returning();
    if (!after) throw new Error("a locked domain is gone");
    const isProven = after.verified_since !== null;
    if (isProven !== (before.verified_since !== null)) {
      const action = isProven ? "domain.verified" : "domain.lost";
      const organizationId = before.organization_id;
      await recordAudit(context, tx, { organizationId, actor, action, subject: domain });
    }
    return { row: after, isLost: !isProven && before.verified_since !== null };
  });
}

/** The button: an owner does not wait for the daily check. */
export async function checkDomain(
  context: AccountsContext,
  person: MemberPrincipal,
  id: string,
): Promise<DomainView> {
  const { db } = context.database;
  await requireRole(db, person, "owner");
  const [row] = await db.select().from(organizationDomains).where(isOwn(person, id));
  if (!row) throw personNotFound();
  const policy = { name: "domain_check", limit: checksPerHour, windowSeconds: 3_600 };
  await enforceLimit(context, policy, person.organizationId);
  const checked = await check(context, row, actorOf(person));
  if (checked === null) throw personNotFound();
  return describeDomain(checked.row);
}

const service: Actor = { kind: "system", id: "domain check", ip: null };

/** The daily check. Owners learn by mail that a domain is lost; the person who presses the button sees it. */
async function checkDaily(context: AccountsContext, row: Row): Promise<void> {
  const checked = await check(context, row, service);
  if (checked?.isLost !== true) return;
  const link = `${context.settings.baseUrl}/portal/settings`;
  await mailOwners(context, row.organization_id, "domains", (to) => domainLostMail(to, link, row.domain));
}

/** Checks every proven domain that was not checked for a day; how many. Doing it twice at once changes nothing else. */
export async function checkDueDomains(context: AccountsContext): Promise<number> {
  const dayAgo = new Date(context.clock().getTime() - dayMs);
  const due = await context.database.db
    .select()
    .from(organizationDomains)
    .where(and(isNotNull(organizationDomains.verified_since), lte(organizationDomains.checked_at, dayAgo)))
    .orderBy(asc(organizationDomains.checked_at))
    .limit(batch);
  await Promise.all(due.map((row) => checkDaily(context, row)));
  return due.length;
}
