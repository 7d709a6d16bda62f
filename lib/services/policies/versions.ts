/** Versions of an organization's rules: read, and put into the log with the statement that names them. */
import { and, desc, eq } from "drizzle-orm";
import { type Actor, type MemberPrincipal, type Principal, toActor } from "#lib/api/http/context";
import type { PutRulesBody } from "#lib/api/schemas/rules";
import type { Executor } from "#lib/db/client";
import { apiKeys, memberships, ruleProposals, ruleSets } from "#lib/db/schema";
import { readDatabaseTime } from "#lib/db/shared-clock";
import { AppError } from "#lib/errors";
import {
  type LogEntry,
  type LogEntryKind,
  type Placed,
  placedColumns,
  submitSigned,
} from "#lib/log/sequencer/entry";
import { hexEncode, sha256, uuidV7 } from "#lib/protocol/encoding/bytes";
import type { RulesFallback } from "#lib/protocol/policy/evaluate-rules";
import { buildRulesetStatement, type RulesMode } from "#lib/protocol/policy/replay";
import { rulesetHash } from "#lib/protocol/policy/rule-context";
import { type Derivation, derivationHash } from "#lib/protocol/policy/suggest";
import { recordAct, recordAudit } from "#lib/services/accounts/audit";
import { mailOwners, rulesChangedMail } from "#lib/services/accounts/mails";
import { holdRole, requireConfirmed, requireRole } from "#lib/services/accounts/members";
import { lockOrganization } from "#lib/services/accounts/organizations";
import { lockAndRecheckKey } from "#lib/services/keys/authenticate";
import { requireRules } from "./check";
import { followsStill } from "./describe-request";
import type { RulesContext } from "./engine";

export type RulesVersion = typeof ruleSets.$inferSelect;

export interface RulesChange {
  text: string;
  mode: RulesMode;
  fallback: RulesFallback;
  secondOwner: boolean;
  authorEmail: string;
  authorKeyId: string | null;
  derivation: Derivation | null;
}

type Newest = Pick<RulesVersion, "number" | "payload" | "fallback" | "second_owner">;

/** Says, under the organization's lock, what a change makes of the newest version, or throws if it may not follow that. */
type ChangeAfter = (tx: Executor, newest: Newest | null) => Promise<RulesChange>;

interface Version extends Newest {
  change: RulesChange;
  previous: string | null;
  changedAt: Date;
}

interface RulesetItem extends LogEntry {
  context: RulesContext;
  organizationId: string;
  actor: Actor;
  confirmedBy: string | null;
  changeAfter: ChangeAfter;
  /** Made under the organization's lock. */
  made: Version | null;
}

export async function readNewest(executor: Executor, organizationId: string): Promise<RulesVersion | null> {
  const [row] = await executor
    .select()
    .from(ruleSets)
    .where(eq(ruleSets.organization_id, organizationId))
    .orderBy(desc(ruleSets.number))
    .limit(1);
  return row ?? null;
}

export async function readProposal(executor: Executor, organizationId: string) {
  const [row] = await executor
    .select()
    .from(ruleProposals)
    .where(eq(ruleProposals.organization_id, organizationId));
  return row ?? null;
}

function makeVersion(
  item: RulesetItem,
  newest: Newest | null,
  change: RulesChange,
  changedAt: Date,
): Version {
  const { organizationId, keyId } = item;
  const number = (newest?.number ?? 0) + 1;
  const previous = newest === null ? null : hexEncode(sha256(newest.payload));
  const { mode, fallback, secondOwner: second_owner } = change;
  const payload = buildRulesetStatement({
    organization: organizationId,
    number,
    previous,
    ruleset_hash: rulesetHash(change.text),
    ...(change.derivation && { derivation: derivationHash(change.derivation) }),
    mode,
    fallback,
    changed_at: changedAt.toISOString(),
    key_id: keyId,
  });
  return { change, number, previous, payload, fallback, second_owner, changedAt };
}

function requireMade({ made }: RulesetItem): Version {
  if (made === null) throw new Error("a version is sealed before it is made");
  return made;
}

/** Changes of one organization in one batch follow each other. */
async function admit(tx: Executor, items: RulesetItem[]): Promise<(AppError | null)[]> {
  const verdicts: (AppError | null)[] = [];
  const made = new Map<string, Version>();
  for (const item of items) {
    const { organizationId } = item;
    await lockOrganization(tx, organizationId);
    const newest = made.get(organizationId) ?? (await readNewest(tx, organizationId));
    try {
      const change = await item.changeAfter(tx, newest);
      // A claim, whose time is the database's, comes before or after.
      item.made = makeVersion(item, newest, change, await readDatabaseTime(tx));
      made.set(organizationId, item.made);
      verdicts.push(null);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      verdicts.push(error);
    }
  }
  return verdicts;
}

async function store(tx: Executor, placed: Placed<RulesetItem>[]): Promise<void> {
  for (const one of placed) {
    const { item } = one;
    const { organizationId } = item;
    const { change, number, previous, changedAt } = requireMade(item);
    const hash = rulesetHash(change.text);
    await tx.insert(ruleSets).values({
      ...placedColumns(one),
      organization_id: organizationId,
      number,
      text: change.text,
      hash,
      mode: change.mode,
      fallback: change.fallback,
      second_owner: change.secondOwner,
      author_email: change.authorEmail,
      author_key_id: change.authorKeyId,
      confirmed_by: item.confirmedBy,
      derivation: change.derivation && JSON.stringify(change.derivation),
      previous,
      created_at: changedAt,
    });
    await recordAudit(item.context, tx, {
      organizationId,
      actor: item.actor,
      action: "rules.changed",
      subject: `version ${number}`,
      detail: { hash, mode: change.mode, fallback: change.fallback, author: change.authorEmail },
    });
  }
}

const rulesetKind: LogEntryKind<RulesetItem> = { kind: "ruleset", locksOrganizations: true, admit, store };

async function storeVersion(
  context: RulesContext,
  organizationId: string,
  given: Pick<RulesetItem, "actor" | "confirmedBy">,
  changeAfter: ChangeAfter,
): Promise<number> {
  const { item } = await submitSigned(context, rulesetKind, async () => {
    const { signer } = context.keys;
    const made: RulesetItem = {
      ...given,
      context,
      organizationId,
      changeAfter,
      made: null,
      keyId: signer.keyId,
      build: () => ({ signer, payload: requireMade(made).payload }),
    };
    return made;
  });
  return requireMade(item).number;
}

/* Changes of the rules: stored at once, or as a proposal if the newest version says that two owners are needed. */

const changedMeanwhile = () =>
  new AppError("rules_changed", "the rules were changed meanwhile: read them again, then change them");

/** Reads who answers for the change: a person, or the person who made the key. */
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
    derivation: change.derivation && JSON.stringify(change.derivation),
    created_at,
  };
  await context.database.db.transaction(async (tx) => {
    await lockOrganization(tx, organizationId);
    await lockAndRecheckKey(tx, principal, "rules", "rules");
    await tx
      .insert(ruleProposals)
      .values(row)
      .onConflictDoUpdate({ target: ruleProposals.organization_id, set: row });
    await recordAct(context, tx, principal, { action: "rules.proposed", subject: row.id });
  });
}

async function notifyOwners(
  context: RulesContext,
  organizationId: string,
  what: { author: string; version: number | null },
): Promise<void> {
  const link = `${context.settings.baseUrl}/portal/rules`;
  await mailOwners(context, organizationId, "rules", (to) => rulesChangedMail(to, link, what));
}

/** A rule that was suggested is confirmed by another owner wherever there is one. `derivation`: what it rests on. */
async function needsSecondOwner(
  executor: Executor,
  organizationId: string,
  newest: Pick<RulesVersion, "second_owner"> | null,
  derivation: Derivation | null,
): Promise<boolean> {
  if (newest?.second_owner || derivation === null) return newest?.second_owner ?? false;
  const { organization_id, role } = memberships;
  return (
    (await executor.$count(memberships, and(eq(organization_id, organizationId), eq(role, "owner")))) > 1
  );
}

export async function saveRules(
  context: RulesContext,
  principal: Principal,
  { text, mode, fallback, require_second_owner, version }: PutRulesBody,
  derivation: Derivation | null = null,
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
    derivation,
  });
  const change = changeAfter(newest);
  const isOutdated = (now: Pick<RulesVersion, "number"> | null) =>
    version != null && version !== (now?.number ?? 0);
  if (isOutdated(newest)) throw changedMeanwhile();
  if (newest !== null && isSame(newest, change)) return true;
  if (await needsSecondOwner(db, organizationId, newest, derivation)) {
    await propose(context, principal, change);
    await notifyOwners(context, organizationId, { author: change.authorEmail, version: null });
    return false;
  }
  const given = { actor: toActor(principal), confirmedBy: null };
  const stored = await storeVersion(context, organizationId, given, async (tx, now) => {
    await lockAndRecheckKey(tx, principal, "rules", "rules");
    if (isOutdated(now) || (await needsSecondOwner(tx, organizationId, now, derivation)))
      throw changedMeanwhile();
    return changeAfter(now);
  });
  await notifyOwners(context, organizationId, { author: change.authorEmail, version: stored });
  return true;
}

const noProposal = () => new AppError("rules_changed", "this change no longer waits: reload the page");

/** Takes it once, and only as it was shown. */
async function takeProposal(tx: Executor, organizationId: string, id: string): Promise<void> {
  const taken = await tx
    .delete(ruleProposals)
    .where(and(eq(ruleProposals.organization_id, organizationId), eq(ruleProposals.id, id)))
    .returning({ id: ruleProposals.id });
  if (taken.length === 0) throw noProposal();
}

export async function confirmProposal(
  context: RulesContext,
  person: MemberPrincipal,
  id: string,
): Promise<void> {
  const { organizationId } = person;
  const { db } = context.database;
  await requireRole(db, person, "rules");
  const proposal = await readProposal(db, organizationId);
  if (proposal?.id !== id) throw noProposal();
  if (proposal.author_email === person.email)
    throw new AppError("forbidden", "another owner than the author must confirm this change");
  await requireRules(context, organizationId, proposal.text);
  const derivation = proposal.derivation === null ? null : (JSON.parse(proposal.derivation) as Derivation);
  if (derivation !== null) {
    await requireConfirmed(db, person);
    if (!(await followsStill(context, organizationId, derivation, proposal.text)))
      throw new AppError(
        "rules_changed",
        "this rule no longer follows from your decisions, one of which was refused, changed or erased meanwhile: drop it",
      );
  }
  const change: RulesChange = {
    text: proposal.text,
    mode: proposal.mode,
    fallback: proposal.fallback,
    secondOwner: proposal.second_owner,
    authorEmail: proposal.author_email,
    authorKeyId: proposal.author_key_id,
    derivation,
  };
  const given = { actor: toActor(person), confirmedBy: person.email };
  const number = await storeVersion(context, organizationId, given, async (tx) => {
    await requireRole(tx, person, "rules");
    await takeProposal(tx, organizationId, id);
    return change;
  });
  await notifyOwners(context, organizationId, { author: proposal.author_email, version: number });
}

/** Drops it, for any owner, its author too. */
export async function dropProposal(
  context: RulesContext,
  person: MemberPrincipal,
  id: string,
): Promise<void> {
  const { organizationId } = person;
  await context.database.db.transaction(async (tx) => {
    await holdRole(tx, person, "rules");
    await takeProposal(tx, organizationId, id);
    await recordAct(context, tx, person, { action: "rules.proposal_dropped", subject: id });
  });
}
