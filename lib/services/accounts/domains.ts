/** The domains of an organization: added, proven, checked again and removed. Members see them, owners change them. */

import { Resolver } from "node:dns/promises";
import { domainToUnicode } from "node:url";
import { and, asc, count, eq, isNotNull, lte } from "drizzle-orm";
import { parse } from "tldts";
import { type Actor, type MemberPrincipal, toActor } from "#lib/api/http/context";
import { enforceLimit } from "#lib/api/http/pipeline";
import type { Executor } from "#lib/db/client";
import { organizationDomains, organizations } from "#lib/db/schema";
import { fieldError } from "#lib/errors";
import { type GuardedAnswer, type GuardedRequest, requestGuarded } from "#lib/jobs/guarded-request";
import type { VerifiedDomain } from "#lib/protocol/approval/assign-groups";
import { hexEncode, uuidV7 } from "#lib/protocol/encoding/bytes";
import { deriveMark, type OrganizationMark } from "#lib/protocol/text/organization-name";
import { dayMs } from "#lib/protocol/time/time-words";
import { recordAct, recordAudit } from "./audit";
import type { AccountsContext, DomainProbe } from "./context";
import { domainLostMail, mailOwners } from "./mails";
import { holdRole, personNotFound, requireRole } from "./members";

/* Domains that an organization may say are its own: registered names and names below them, as DNS has them. */

const label = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
const pattern = new RegExp(`^(?:${label}\\.)+${label}$`);
/** Room for `_countersign.` before it (RFC 1035 section 2.3.4: 253 characters in all). */
const maxLength = 240;

/**
 * Parses a domain: lower case, IDNs in Punycode (UTS 46, as `URL` writes hosts). Null for anything else: addresses, ports and
 * paths, names of no registry, and public suffixes (publicsuffix.org), which no organization has alone.
 */
export function parseDomainName(text: string): string | null {
  const host = text.trim().replace(/\.$/, "");
  if (host.length > maxLength || /[\s\p{C}/\\?#@:%[\]]/u.test(host)) return null;
  const url = URL.canParse(`https://${host}`) ? new URL(`https://${host}`) : null;
  if (url === null || url.hostname.length > maxLength || !pattern.test(url.hostname)) return null;
  const { domain, isIcann, isPrivate, isIp } = parse(url.hostname, { allowPrivateDomains: true });
  return isIp || domain === null || !(isIcann || isPrivate) ? null : url.hostname;
}

/** Writes a domain for people; unchanged if it is none that Punycode can hold. */
export const toUnicode = (domain: string): string => domainToUnicode(domain) || domain;

/*
 * Looks for an organization's token at a domain: in a TXT record, or a file that it serves itself. A name server or web
 * server that gives no answer shows neither that it is there nor that it isn't.
 */

const timeoutMs = 10_000;
const maxFileBytes = 4_096;

/** The rules of webhooks: https, public addresses only, judged when the connection is made, no redirects. */
export const fetchProofFile = (
  url: string,
  options: Pick<GuardedRequest, "mayBeLoopback" | "resolve"> = { mayBeLoopback: false },
): Promise<GuardedAnswer> =>
  requestGuarded({
    ...options,
    method: "GET",
    url,
    headers: { accept: "text/plain", "user-agent": "Countersign-Domains/1" },
    timeoutMs,
    maxBytes: maxFileBytes,
  });

export const domainProbe: DomainProbe = {
  resolveTxt: (name) => new Resolver({ timeout: 3_000, tries: 2 }).resolveTxt(name),
  fetchFile: (url) => fetchProofFile(url),
};

export const proofPlaces = ["dns", "file"] as const;
export type ProofPlace = (typeof proofPlaces)[number];

export interface Finding {
  state: "found" | "gone" | "no answer";
  problem: string | null;
}

export type Findings = Record<ProofPlace, Finding>;

export const recordName = (domain: string) => `_countersign.${domain}`;
export const fileUrl = (domain: string) => `https://${domain}/.well-known/countersign.txt`;
export const proofLine = (token: string) => `countersign-verification=${token}`;

const found: Finding = { state: "found", problem: null };
const gone = (problem: string): Finding => ({ state: "gone", problem });
const noAnswer = (problem: string): Finding => ({ state: "no answer", problem });

/** Errors of name servers for a name without such a record. */
const absent = ["ENOTFOUND", "ENODATA"];

async function askDns({ resolveTxt }: DomainProbe, domain: string, token: string): Promise<Finding> {
  try {
    const records = await resolveTxt(recordName(domain));
    const isThere = records.some((parts) => parts.join("").trim() === proofLine(token));
    return isThere ? found : gone("DNS has a TXT record, but not this one");
  } catch (error) {
    const { code = "unknown" } = error as NodeJS.ErrnoException;
    return absent.includes(code)
      ? gone("DNS has no such TXT record")
      : noAnswer(`DNS gave no answer (${code})`);
  }
}

/** Servers that are busy or broken say nothing about their files. */
const saysNothing = (status: number) => status === 429 || status >= 500;

async function askFile({ fetchFile }: DomainProbe, domain: string, token: string): Promise<Finding> {
  const answer = await fetchFile(fileUrl(domain));
  if (answer.status === null) {
    const { problem, code } = answer;
    const isAbsent = code !== null && absent.includes(code);
    return isAbsent ? gone("no web server has this name") : noAnswer(`the file: ${problem}`);
  }
  if (saysNothing(answer.status)) return noAnswer(`the file: HTTP ${answer.status}`);
  if (answer.status !== 200) return gone(`the file: HTTP ${answer.status}`);
  if (answer.text === null) return gone(`the file is larger than ${maxFileBytes} bytes`);
  const lines = answer.text.split("\n").map((line) => line.trim());
  return lines.includes(proofLine(token)) ? found : gone("the file doesn't have this line");
}

export async function lookForProof(probe: DomainProbe, domain: string, token: string): Promise<Findings> {
  const [dns, file] = await Promise.all([askDns(probe, domain, token), askFile(probe, domain, token)]);
  return { dns, file };
}

/*
 * The rule by which a domain is proven and lost (docs/decisions/0027). Either place proves it. A proven domain is checked
 * every day and is lost when checks found the token gone from its place on three days in a row, or when none has found it
 * for fourteen days, whatever the reason. Then its owner proves it again.
 */

const daysUntilGone = 3;
const silentMs = 14 * dayMs;

export interface DomainState {
  verified_since: Date | null;
  found_in: ProofPlace | null;
  found_at: Date | null;
  days_gone: number;
  /** YYYY-MM-DD in UTC. */
  last_day_gone: string | null;
  problem: string | null;
  checked_at: Date | null;
}

const lost = { verified_since: null, days_gone: 0, last_day_gone: null };

/** A second check on the same day counts no second time. */
function countDayGone({ days_gone, last_day_gone }: DomainState, now: Date) {
  const today = now.toISOString().slice(0, 10);
  return { days_gone: days_gone + (last_day_gone === today ? 0 : 1), last_day_gone: today };
}

/** State of a domain after a check. `found_in` and `found_at` of a lost one are those of the last proof. */
export function settleCheck(state: DomainState, findings: Findings, now: Date): DomainState {
  const place = proofPlaces.find((one) => findings[one].state === "found");
  if (place !== undefined) {
    const verified_since = state.verified_since ?? now;
    const proven = { verified_since, found_in: place, found_at: now, problem: null, checked_at: now };
    return { ...proven, days_gone: 0, last_day_gone: null };
  }
  const problem = proofPlaces.map((one) => findings[one].problem).join("; ");
  const unproven = { ...state, problem, checked_at: now };
  const { verified_since, found_in, found_at } = state;
  if (verified_since === null || found_in === null || found_at === null) return unproven;
  const isSilent = now.getTime() - found_at.getTime() >= silentMs;
  const counted = findings[found_in].state === "gone" ? countDayGone(state, now) : state;
  if (isSilent || counted.days_gone >= daysUntilGone) return { ...unproven, ...lost };
  return { ...unproven, days_gone: counted.days_gone, last_day_gone: counted.last_day_gone };
}

/** Limit: all of them are on the approval page. */
const maxDomains = 5;
const checksPerHour = 30;
/** Number checked at once, so that those that give no answer don't delay the others by much. */
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
  await requireRole(db, person, "read");
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
    await holdRole(tx, person, "settings");
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
    await recordAct(context, tx, person, { action: "domain.added", subject: domain });
  });
}

const isOwn = (person: MemberPrincipal, id: string) =>
  and(eq(organizationDomains.id, id), eq(organizationDomains.organization_id, person.organizationId));

export async function removeDomain(
  context: AccountsContext,
  person: MemberPrincipal,
  id: string,
): Promise<void> {
  await context.database.db.transaction(async (tx) => {
    await holdRole(tx, person, "settings");
    const [gone] = await tx.delete(organizationDomains).where(isOwn(person, id)).returning();
    if (!gone) throw personNotFound();
    await recordAct(context, tx, person, { action: "domain.removed", subject: gone.domain });
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
  await requireRole(db, person, "settings");
  const [row] = await db.select().from(organizationDomains).where(isOwn(person, id));
  if (!row) throw personNotFound();
  const policy = { name: "domain_check", limit: checksPerHour, windowSeconds: 3_600 };
  await enforceLimit(context, policy, person.organizationId);
  const checked = await check(context, row, toActor(person));
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

/* An organization as approvers see it: what it calls itself, and which domains it has proven. */

export interface OrganizationIdentity {
  name: string | null;
  mark: OrganizationMark;
  domains: VerifiedDomain[];
}

type Marked = Pick<typeof organizations.$inferSelect, "name" | "mark_text" | "mark_color">;

export function toMark({ name, mark_text, mark_color }: Marked): OrganizationMark {
  const derived = deriveMark(name ?? "");
  return { text: mark_text ?? derived.text, color: mark_color ?? derived.color };
}

type Proving = Pick<typeof organizationDomains.$inferSelect, "domain" | "verified_since" | "found_at">;

function describeProven(row: { [Column in keyof Proving]: Proving[Column] | null }): VerifiedDomain[] {
  const { domain, verified_since, found_at } = row;
  if (!domain || !verified_since || !found_at) return [];
  return [
    {
      domain,
      unicode: toUnicode(domain),
      verified_since: verified_since.toISOString(),
      last_checked: found_at.toISOString(),
    },
  ];
}

export async function readIdentity(
  executor: Executor,
  organizationId: string,
): Promise<OrganizationIdentity | null> {
  const { id, name, mark_text, mark_color } = organizations;
  const { organization_id, domain, verified_since, found_at } = organizationDomains;
  const rows = await executor
    .select({ name, mark_text, mark_color, domain, verified_since, found_at })
    .from(organizations)
    .leftJoin(organizationDomains, and(eq(organization_id, id), isNotNull(verified_since)))
    .where(eq(id, organizationId))
    .orderBy(asc(verified_since), asc(domain));
  const [first] = rows;
  if (first === undefined) return null;
  return { name: first.name, mark: toMark(first), domains: rows.flatMap(describeProven) };
}
