/** Changes of the rules: stored at once, or as a proposal if the newest version says that two owners are needed. */
import { and, eq } from "drizzle-orm";
import { actorOf, type MemberPrincipal, type Principal } from "#lib/api/http/principal";
import type { PutRulesBody } from "#lib/api/schemas/rules";
import type { Executor } from "#lib/db/client";
import { apiKeys, ruleProposals } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { uuidV7 } from "#lib/protocol/encoding/ids";
import { recordAudit } from "#lib/services/accounts/audit";
import { mailOwners } from "#lib/services/accounts/mail-owners";
import { rulesChangedMail } from "#lib/services/accounts/mails";
import { holdRole, requireRole } from "#lib/services/accounts/members";
import { lockOrganization } from "#lib/services/accounts/organizations";
import { holdCaller } from "#lib/services/keys/hold-caller";
import { requireRules } from "./check";
import type { RulesContext } from "./context";
import { type RulesChange, type RulesVersion, readNewest, readProposal, storeVersion } from "./versions";

const changedMeanwhile = () =>
  new AppError("rules_changed", "the rules were changed meanwhile: read them again, then change them");

/** Who answers for the change: a person, or the person who made the key. */
async function readAuthor(
  executor: Executor,
  principal: Principal,
): Promise<Pick<RulesChange, "authorEmail" | "authorKeyId">> {
  if (principal.kind === "user") return { authorEmail: principal.email, authorKeyId: null };
  const [key] = await executor
    .select({ email: apiKeys.email })
    .from(apiKeys)
    .where(eq(apiKeys.id, principal.keyId));
  if (!key) throw new AppError("invalid_api_key", "the API key is not valid");
  return { authorEmail: principal.person?.email ?? key.email, authorKeyId: principal.keyId };
}

const isSame = (newest: RulesVersion, change: RulesChange) =>
  newest.text === change.text &&
  newest.mode === change.mode &&
  newest.fallback === change.fallback &&
  newest.second_owner === change.secondOwner;

async function propose(context: RulesContext, principal: Principal, change: RulesChange): Promise<void> {
  const { organizationId } = principal;
  const created_at = context.clock();
  const row = {
    organization_id: organizationId,
    id: uuidV7(created_at.getTime(), context.random(16)),
    text: change.text,
    mode: change.mode,
    fallback: change.fallback,
    second_owner: change.secondOwner,
    author_email: change.authorEmail,
    author_key_id: change.authorKeyId,
    created_at,
  };
  await context.database.db.transaction(async (tx) => {
    await lockOrganization(tx, organizationId);
    await holdCaller(tx, principal, "rules");
    await tx
      .insert(ruleProposals)
      .values(row)
      .onConflictDoUpdate({ target: ruleProposals.organization_id, set: row });
    await recordAudit(context, tx, {
      organizationId,
      actor: actorOf(principal),
      action: "rules.proposed",
      subject: row.id,
    });
  });
}

async function tellOwners(
  context: RulesContext,
  organizationId: string,
  what: { author: string; version: number | null },
): Promise<void> {
  const link = `${context.settings.baseUrl}/portal/rules`;
  await mailOwners(context, organizationId, "rules", (to) => rulesChangedMail(to, link, what));
}

/** True if it counts at once; false if it waits for a second owner. */
export async function saveRules(
  context: RulesContext,
  principal: Principal,
  { text, mode, fallback, require_second_owner, version }: PutRulesBody,
): Promise<boolean> {
  const { organizationId } = principal;
  await requireRules(context, organizationId, text);
  const { db } = context.database;
  const newest = await readNewest(db, organizationId);
  const author = await readAuthor(db, principal);
  const changeAfter = (now: Pick<RulesVersion, "fallback" | "second_owner"> | null): RulesChange => ({
    text,
    mode,
    fallback: fallback ?? now?.fallback ?? "ask",
    secondOwner: require_second_owner ?? now?.second_owner ?? false,
    ...author,
  });
  const change = changeAfter(newest);
  const isOutdated = (now: Pick<RulesVersion, "number"> | null) =>
    version != null && version !== (now?.number ?? 0);
  if (isOutdated(newest)) throw changedMeanwhile();
  if (newest !== null && isSame(newest, change)) return true;
  if (newest?.second_owner) {
    await propose(context, principal, change);
    await tellOwners(context, organizationId, { author: change.authorEmail, version: null });
    return false;
  }
  const given = { actor: actorOf(principal), confirmedBy: null };
  const stored = await storeVersion(context, organizationId, given, async (tx, now) => {
    await holdCaller(tx, principal, "rules");
    if (isOutdated(now) || now?.second_owner) throw changedMeanwhile();
    return changeAfter(now);
  });
  await tellOwners(context, organizationId, { author: change.authorEmail, version: stored });
  return true;
}

const noProposal = () => new AppError("rules_changed", "this change no longer waits: reload the page");

/** Once, and only as it was shown. */
async function takeProposal(tx: Executor, organizationId: string, id: string): Promise<void> {
  const taken = await tx
    .delete(ruleProposals)
    .where(and(eq(ruleProposals.organization_id, organizationId), eq(ruleProposals.id, id)))
    .returning({ id: ruleProposals.id });
  if (taken.length === 0) throw noProposal();
}

/** By an owner who did not write it; `id`: of the proposal that they were shown. */
export async function confirmProposal(
  context: RulesContext,
  person: MemberPrincipal,
  id: string,
): Promise<void> {
  const { organizationId } = person;
  const { db } = context.database;
  await requireRole(db, person, "owner");
  const proposal = await readProposal(db, organizationId);
  if (proposal?.id !== id) throw noProposal();
  if (proposal.author_email === person.email)
    throw new AppError("forbidden", "another owner than the author must confirm this change");
  await requireRules(context, organizationId, proposal.text);
  const change: RulesChange = {
    text: proposal.text,
    mode: proposal.mode,
    fallback: proposal.fallback,
    secondOwner: proposal.second_owner,
    authorEmail: proposal.author_email,
    authorKeyId: proposal.author_key_id,
  };
  const given = { actor: actorOf(person), confirmedBy: person.email };
  const number = await storeVersion(context, organizationId, given, async (tx) => {
    await requireRole(tx, person, "owner");
    await takeProposal(tx, organizationId, id);
    return change;
  });
  await tellOwners(context, organizationId, { author: proposal.author_email, version: number });
}

/** By any owner, its author too. */
export async function dropProposal(
  context: RulesContext,
  person: MemberPrincipal,
  id: string,
): Promise<void> {
  const { organizationId } = person;
  await context.database.db.transaction(async (tx) => {
    await holdRole(tx, person, "owner");
    await takeProposal(tx, organizationId, id);
    await recordAudit(context, tx, {
      organizationId,
      actor: actorOf(person),
      action: "rules.proposal_dropped",
      subject: id,
    });
  });
}
