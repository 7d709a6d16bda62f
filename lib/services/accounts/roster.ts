/**
 * Life of a change: whatever changes who may approve leaves a mark in the same statement (drizzle/0001_functions.sql).
 * Here the mark is taken away, the next head is made of what is so now, and its statement goes into the log, all in one
 * transaction of the sequencer, under the log's head lock: heads of an organization have no gap and no fork. A change
 * whose process died is found by its mark.
 */
import { and, desc, eq, inArray, isNull, sql } from "drizzle-orm";
import type { RosterResponse } from "#lib/api/schemas/rosters";
import { type Executor, queryRows } from "#lib/db/client";
import {
  approverGroups,
  approvers,
  deputies,
  organizations,
  passkeys,
  providerGroups,
  rosters,
  staleRosters,
} from "#lib/db/schema";
import { readDatabaseTime } from "#lib/db/shared-clock";
import { AppError } from "#lib/errors";
import { claimDue, createDueWork } from "#lib/jobs/due-work";
import {
  type LogEntry,
  type LogEntryKind,
  type Placed,
  placedColumns,
  submitSigned,
} from "#lib/log/sequencer/entry";
import {
  base64Encode,
  base64UrlEncode,
  hexEncode,
  sha256,
  utf8Decode,
  utf8Encode,
} from "#lib/protocol/encoding/bytes";
import { canonicalBytes, canonicalHash, canonicalJson } from "#lib/protocol/encoding/canonical-json";
import {
  type ApproverChange,
  buildRosterHead,
  buildRosterStatement,
  entryName,
  type GroupOpening,
  hashGroup,
  hashName,
  type MappedPlace,
  maxRosterHashes,
  type NameOpening,
  orderEntries,
  type RosterEntry,
  type RosterHead,
  rosterHash,
} from "#lib/protocol/passkey/roster";
import type { AccountsContext } from "./context";
import { deputyMail, mailOwners, rosterMail } from "./mails";

/* Roster of this moment, as entries, and its difference from the roster before. */

type Names = Record<string, string>;

export interface RosterDetails {
  /** Keyed by the entries' names. */
  openings: Record<string, GroupOpening[]>;
  /** Keyed by the entries' names; absent in rosters that were made before people's names were in entries. */
  names?: Record<string, NameOpening>;
  people: Names;
  groups: Names;
  /** Keyed by credential id. */
  passkeys: Names;
}

export interface RosterState {
  entries: RosterEntry[];
  details: RosterDetails;
}

type ReadState = RosterState & { mapped: MappedPlaces };

/** Keyed by approver; groups by name, as changes have them. Nothing signs it: a roster's bytes stay what they were. */
type MappedPlaces = ReadonlyMap<string, readonly MappedPlace[]>;

/** Passkeys that count: not removed, of people who confirmed, in an organization that is there. */
export const isEnrolled = and(isNull(passkeys.removed_at), eq(approvers.status, "confirmed"));

async function readEnrolled(tx: Executor, organizationId: string) {
  const rows = await tx
    .select({
      approverId: passkeys.approver_id,
      person: sql<string>`coalesce(${approvers.name}, ${approvers.email})`,
      credentialId: passkeys.credential_id,
      publicKey: passkeys.public_key,
      name: passkeys.name,
      salt: passkeys.salt,
      since: passkeys.created_at,
    })
    .from(passkeys)
    .innerJoin(approvers, eq(approvers.id, passkeys.approver_id))
    .innerJoin(organizations, eq(organizations.id, passkeys.organization_id))
    .where(and(eq(passkeys.organization_id, organizationId), isEnrolled, isNull(organizations.deleted_at)));
  const places = await tx
    .select({
      approverId: approverGroups.approver_id,
      groupId: approverGroups.group_id,
      name: approvers.name,
      providerGroup: approverGroups.by_provider,
      mappedBy: providerGroups.mapped_by,
    })
    .from(approverGroups)
    .innerJoin(approvers, eq(approvers.id, approverGroups.group_id))
    .leftJoin(
      providerGroups,
      and(
        eq(providerGroups.organization_id, approvers.organization_id),
        eq(providerGroups.name, approverGroups.by_provider),
      ),
    )
    .where(eq(approvers.organization_id, organizationId));
  const deputyships = await tx
    .select({
      absentId: deputies.approver_id,
      deputyId: deputies.deputy_id,
      from: deputies.starts_at,
      until: deputies.ends_at,
    })
    .from(deputies)
    .innerJoin(approvers, eq(approvers.id, deputies.approver_id))
    .where(and(eq(approvers.organization_id, organizationId), sql`${deputies.ends_at} > clock_timestamp()`));
  return { rows, places, deputyships };
}

/** An opening that was there before is kept, so that an entry that didn't change has the same bytes. */
function openGroups(
  { random }: Pick<AccountsContext, "random">,
  groupIds: string[],
  before: GroupOpening[] = [],
): GroupOpening[] {
  return groupIds.map(
    (group) => before.find((one) => one.group === group) ?? { group, salt: base64Encode(random(16)) },
  );
}

/** Likewise, for the same name. */
const openName = (
  { random }: Pick<AccountsContext, "random">,
  name: string,
  before: NameOpening | undefined,
): NameOpening => (before?.name === name ? before : { name, salt: base64Encode(random(16)) });

async function readRosterState(
  context: Pick<AccountsContext, "random">,
  tx: Executor,
  organizationId: string,
  before: RosterDetails | null,
): Promise<ReadState> {
  const { rows, places, deputyships } = await readEnrolled(tx, organizationId);
  const details = structuredClone(noDetails);
  const names: Record<string, NameOpening> = {};
  const mapped = new Map<string, MappedPlace[]>();
  for (const { approverId, groupId, name, providerGroup, mappedBy } of places) {
    details.groups[groupId] = name ?? "";
    if (providerGroup === null || mappedBy === null) continue;
    const place = { group: name ?? "", provider_group: providerGroup, mapped_by: mappedBy };
    mapped.set(approverId, [...(mapped.get(approverId) ?? []), place]);
  }
  const list = (row: (typeof rows)[number], ofId: string, more: Pick<RosterEntry, "salt" | "deputy_for">) => {
    const groupIds = places.filter((place) => place.approverId === ofId).map(({ groupId }) => groupId);
    const entry: RosterEntry = {
      approver_id: row.approverId,
      credential_id: row.credentialId,
      public_key: base64UrlEncode(row.publicKey),
      groups: [],
      since: row.since.toISOString(),
      ...more,
    };
    const openings = openGroups(context, groupIds.sort(), before?.openings[entryName(entry)]);
    details.openings[entryName(entry)] = openings;
    const hashes = openings.map(hashGroup);
    if (hashes.length < maxRosterHashes) {
      const name = openName(context, row.person, before?.names?.[entryName(entry)]);
      names[entryName(entry)] = name;
      hashes.push(hashName(name));
    }
    return { ...entry, groups: hashes.sort() };
  };
  const entries = rows.map((row): RosterEntry => {
    details.people[row.approverId] = row.person;
    details.passkeys[row.credentialId] = row.name;
    return list(row, row.approverId, { salt: base64Encode(row.salt) });
  });
  // Drops deputies of a person without a passkey, who decides nothing.
  const isThere = new Set(rows.map(({ approverId }) => approverId));
  const ofDeputies = deputyships
    .filter(({ absentId }) => isThere.has(absentId))
    .flatMap(({ absentId, deputyId, from, until }) =>
      rows
        .filter(({ approverId }) => approverId === deputyId)
        .map((row) =>
          list(row, absentId, {
            salt: base64Encode(sha256(row.salt, utf8Encode(absentId)).slice(0, 16)),
            deputy_for: { approver_id: absentId, from: from.toISOString(), until: until.toISOString() },
          }),
        ),
    );
  return { entries: orderEntries([...entries, ...ofDeputies]), details: { ...details, names }, mapped };
}

const isSameRoster = (a: readonly RosterEntry[], b: readonly RosterEntry[]) =>
  canonicalHash(a.map((entry) => ({ ...entry }))) === canonicalHash(b.map((entry) => ({ ...entry })));

export const noDetails: RosterDetails = { openings: {}, people: {}, groups: {}, passkeys: {} };

/** Lists an owner's view of the changes, by name. A person with several passkeys joins a group once. */
function describeChanges(before: RosterState | null, now: ReadState): ApproverChange[] {
  const { entries, details } = before ?? { entries: [], details: noDetails };
  const own = entries.filter(isOwn);
  const known = new Map(own.map((entry) => [entry.credential_id, entry]));
  const current = new Set(now.entries.map(({ credential_id }) => credential_id));
  const changes: ApproverChange[] = [];
  const moved = new Map<string, ApproverChange>();
  const explain = (approverId: string, groups: readonly string[]) => {
    const mapped = (now.mapped.get(approverId) ?? []).filter(({ group }) => groups.includes(group));
    return mapped.length === 0 ? {} : { mapped };
  };
  for (const { credential_id: id, approver_id } of now.entries.filter(isOwn)) {
    const person = now.details.people[approver_id] ?? "";
    const groupsNow = groupNames(now.details, id);
    if (!known.has(id)) {
      const passkey = now.details.passkeys[id] ?? "";
      const groups = Object.values(groupsNow).sort();
      changes.push({ kind: "passkey_added", person, passkey, groups, ...explain(approver_id, groups) });
      continue;
    }
    const groupsBefore = groupNames(details, id);
    for (const [group, name] of Object.entries(groupsNow))
      if (!(group in groupsBefore))
        moved.set(`joined ${approver_id} ${group}`, {
          ...{ kind: "joined", person, group: name },
          ...explain(approver_id, [name]),
        });
    for (const [group, name] of Object.entries(groupsBefore))
      if (!(group in groupsNow))
        moved.set(`left ${approver_id} ${group}`, { kind: "left", person, group: name });
  }
  for (const { credential_id: id, approver_id } of own) {
    if (current.has(id)) continue;
    const person = details.people[approver_id] ?? "";
    changes.push({ kind: "passkey_removed", person, passkey: details.passkeys[id] ?? "" });
  }
  for (const [name, change] of describeDeputies(before, now)) moved.set(name, change);
  const place = ({ kind, person, ...of }: ApproverChange) => canonicalJson([person, kind, { ...of }]);
  return [...changes, ...moved.values()].sort((a, b) => (place(a) < place(b) ? -1 : 1));
}

const isOwn = ({ deputy_for }: RosterEntry) => deputy_for === undefined;

/** Lists a deputy with several passkeys once; another time is another deputyship. */
function compareDeputies(before: RosterState | null, now: RosterState) {
  const listDeputies = (state: RosterState | null) =>
    new Map(
      (state?.entries ?? []).flatMap(({ approver_id, deputy_for }) => {
        if (deputy_for === undefined) return [];
        const person = state?.details.people[deputy_for.approver_id] ?? "";
        const deputy = state?.details.people[approver_id] ?? "";
        const name = canonicalJson(["deputy", approver_id, { ...deputy_for }]);
        const ids = `${approver_id} ${deputy_for.approver_id}`;
        return [[name, { ids, deputyId: approver_id, person, deputy, ...deputy_for }] as const];
      }),
    );
  const [old, current] = [listDeputies(before), listDeputies(now)];
  return {
    named: [...current].filter(([name]) => !old.has(name)),
    ended: [...old].filter(([name]) => !current.has(name)),
  };
}

function describeDeputies(before: RosterState | null, now: RosterState): [string, ApproverChange][] {
  const { named, ended } = compareDeputies(before, now);
  return [
    ...named.map(([name, { person, deputy, from, until }]): [string, ApproverChange] => [
      name,
      { kind: "deputy_named", person, deputy, from, until },
    ]),
    ...ended.map(([name, { person, deputy }]): [string, ApproverChange] => [
      name,
      { kind: "deputy_ended", person, deputy },
    ]),
  ];
}

function groupNames({ openings, groups }: RosterDetails, credentialId: string): Names {
  const ids = (openings[credentialId] ?? []).map(({ group }) => group);
  return Object.fromEntries(ids.map((id) => [id, groups[id] ?? ""]));
}

export interface StoredRoster extends RosterState {
  head: RosterHead;
  /** Hex. */
  hash: string;
}

interface RosterItem extends LogEntry {
  context: Pick<AccountsContext, "random">;
  organizationId: string;
  /** Made under the head's lock. */
  made: (RosterState & { head: RosterHead; changes: ApproverChange[] }) | null;
}

class RosterCurrent extends AppError {
  constructor() {
    super("idempotency_conflict", "the roster is current");
  }
}

export async function readLastRoster(
  executor: Executor,
  organizationId: string,
): Promise<StoredRoster | null> {
  const [row] = await executor
    .select()
    .from(rosters)
    .where(eq(rosters.organization_id, organizationId))
    .orderBy(desc(rosters.number))
    .limit(1);
  if (!row) return null;
  return {
    head: JSON.parse(utf8Decode(row.head)) as RosterHead,
    hash: hexEncode(sha256(row.head)),
    entries: JSON.parse(row.entries) as RosterEntry[],
    details: JSON.parse(row.details) as RosterDetails,
  };
}

async function isMarked(tx: Executor, organizationId: string): Promise<boolean> {
  const rows = await tx
    .select({ id: staleRosters.organization_id })
    .from(staleRosters)
    .where(eq(staleRosters.organization_id, organizationId))
    .for("update");
  return rows.length === 1;
}

const unmark = (tx: Executor, organizationId: string) =>
  tx.delete(staleRosters).where(eq(staleRosters.organization_id, organizationId));

async function admitOne(tx: Executor, item: RosterItem): Promise<AppError | null> {
  const { context, organizationId } = item;
  if (!(await isMarked(tx, organizationId))) return new RosterCurrent();
  const last = await readLastRoster(tx, organizationId);
  const state = await readRosterState(context, tx, organizationId, last?.details ?? null);
  if (isSameRoster(state.entries, last?.entries ?? [])) {
    await unmark(tx, organizationId);
    return new RosterCurrent();
  }
  const head = buildRosterHead(state.entries, {
    organization: organizationId,
    number: (last?.head.number ?? 0) + 1,
    previous: last?.hash ?? null,
    changed_at: (await readDatabaseTime(tx)).toISOString(),
  });
  item.made = { ...state, head, changes: describeChanges(last, state) };
  return null;
}

async function admit(tx: Executor, items: RosterItem[]): Promise<(AppError | null)[]> {
  const verdicts: (AppError | null)[] = [];
  const seen = new Set<string>();
  for (const item of items) {
    // The first of its batch makes the roster of everything that was committed.
    verdicts.push(seen.has(item.organizationId) ? new RosterCurrent() : await admitOne(tx, item));
    seen.add(item.organizationId);
  }
  return verdicts;
}

function requireMade({ made }: RosterItem): NonNullable<RosterItem["made"]> {
  if (made === null) throw new Error("a roster is sealed before it is made");
  return made;
}

async function store(tx: Executor, placed: Placed<RosterItem>[]): Promise<void> {
  for (const one of placed) {
    const { item, receipt } = one;
    const { organizationId } = item;
    const { head, entries, details, changes } = requireMade(item);
    await tx.insert(rosters).values({
      ...placedColumns(one),
      organization_id: organizationId,
      number: head.number,
      head: canonicalBytes({ ...head }),
      entries: JSON.stringify(entries),
      details: JSON.stringify(details),
      changes: JSON.stringify(changes),
      receipt: JSON.stringify(receipt),
    });
    await unmark(tx, organizationId);
    const facts = `"number":${head.number},"roster_hash":"${rosterHash(head)}"`;
    await tx.execute(
      sql`SELECT announce_event(${organizationId}::uuid, 'roster.changed', ${rosterHash(head)}, ${head.changed_at}::timestamptz, ${facts}, NULL)`,
    );
  }
}

const rosterKind: LogEntryKind<RosterItem> = { kind: "approver_roster", admit, store };

/**
 * Logs the roster after a change was committed. False if it could not be logged now: its mark stays, and a round tries again.
 */
export async function updateRoster(context: AccountsContext, organizationId: string): Promise<boolean> {
  try {
    await submitSigned(context, rosterKind, async () => {
      const { signer } = context.keys;
      const item: RosterItem = {
        keyId: signer.keyId,
        context,
        organizationId,
        made: null,
        build: () => ({ signer, payload: buildRosterStatement(requireMade(item).head, signer.keyId) }),
      };
      return item;
    });
  } catch (error) {
    if (error instanceof RosterCurrent) return true;
    context.logger.warn({ err: error, organization: organizationId }, "a roster could not be logged yet");
    return false;
  }
  return true;
}

/* The rosters of an organization, newest first, as its people and its monitor read them. */

export async function listRosters(
  executor: Executor,
  organizationId: string,
  { number, limit }: { number: number | undefined; limit: number },
) {
  const isWanted = number === undefined ? undefined : eq(rosters.number, number);
  const rows = await executor
    .select()
    .from(rosters)
    .where(and(eq(rosters.organization_id, organizationId), isWanted))
    .orderBy(desc(rosters.number))
    .limit(limit);
  return rows.map((row) => ({
    head: JSON.parse(utf8Decode(row.head)) as RosterHead,
    hash: hexEncode(sha256(row.head)),
    entries: JSON.parse(row.entries) as RosterEntry[],
    changes: JSON.parse(row.changes) as ApproverChange[],
    log_index: row.leaf_index,
  }));
}

export async function readRoster(
  executor: Executor,
  organizationId: string,
  number: number | undefined,
): Promise<RosterResponse> {
  const [roster = null] = await listRosters(executor, organizationId, { number, limit: 1 });
  return { organization: organizationId, roster };
}

/** The person's name that an entry of this roster (`name`: entryName) commits to; null for one without. */
export async function readSignedName(
  executor: Executor,
  organizationId: string,
  number: number,
  name: string,
): Promise<NameOpening | null> {
  const [row] = await executor
    .select({ details: rosters.details })
    .from(rosters)
    .where(and(eq(rosters.organization_id, organizationId), eq(rosters.number, number)));
  return row === undefined ? null : ((JSON.parse(row.details) as RosterDetails).names?.[name] ?? null);
}

/* Follow-up of a roster's changes, and of those that a dead process has left: retried until it is done. */

const atOnce = 50;

/** Rosters whose change was committed a moment ago, and that no process has logged. */
async function updateStale(context: AccountsContext): Promise<void> {
  const stale = await queryRows<{ organization_id: string }>(
    context.database.db,
    sql`SELECT organization_id FROM stale_rosters WHERE since < clock_timestamp() - interval '2 seconds'
      ORDER BY since LIMIT ${atOnce}`,
  );
  for (const { organization_id } of stale) await updateRoster(context, organization_id);
}

interface Due {
  organization_id: string;
  number: number;
  changes: string;
}

const readDueMails = (context: AccountsContext) =>
  queryRows<Due>(
    context.database.db,
    sql`SELECT organization_id, number, changes FROM rosters WHERE mail_due_at <= clock_timestamp()
      ORDER BY mail_due_at LIMIT ${atOnce}`,
  );

/** Mails who has become a deputy, and who is one no longer before the time that they were told. */
async function mailDeputies(context: AccountsContext, organizationId: string, number: number) {
  const { db } = context.database;
  const rows = await db
    .select({ entries: rosters.entries, details: rosters.details })
    .from(rosters)
    .where(and(eq(rosters.organization_id, organizationId), inArray(rosters.number, [number - 1, number])))
    .orderBy(desc(rosters.number));
  const [now, before = null] = rows.map(({ entries, details }) => ({
    entries: JSON.parse(entries) as RosterEntry[],
    details: JSON.parse(details) as RosterDetails,
  }));
  if (now === undefined) return;
  const { named, ended } = compareDeputies(before, now);
  const nowMs = context.clock().getTime();
  const isNamed = (ids: string) => named.some(([, one]) => one.ids === ids);
  const isEarly = ({ ids, until }: { ids: string; until: string }) =>
    Date.parse(until) > nowMs && !isNamed(ids);
  const told = [...named, ...ended.filter(([, one]) => isEarly(one))].map(([, one]) => one);
  for (const { ids, deputyId, person, from, until } of told) {
    const [deputy] = await db
      .select({ email: approvers.email, organization: organizations.name })
      .from(approvers)
      .innerJoin(organizations, eq(organizations.id, approvers.organization_id))
      .where(and(eq(approvers.id, deputyId), eq(approvers.status, "confirmed")));
    if (!deputy || deputy.email === null) continue;
    const link = `${context.settings.baseUrl}/portal/inbox`;
    const time = isNamed(ids) ? { from, until } : null;
    await context.mailer
      .send(deputyMail(deputy.email, link, { person, organization: deputy.organization, time }))
      .catch((error: unknown) => {
        context.logger.warn({ err: error }, "a mail to a deputy could not be sent");
      });
  }
}

/** Mails every owner; if no mail goes out at all, all of it is retried. */
async function sendRosterMails(context: AccountsContext, { organization_id, number, changes }: Due) {
  const link = `${context.settings.baseUrl}/portal/approvers`;
  const list = JSON.parse(changes) as ApproverChange[];
  if (list.length > 0) {
    const { sent, failed } = await mailOwners(context, organization_id, "roster", (to) =>
      rosterMail(to, link, number, list),
    );
    if (sent === 0 && failed > 0) return;
    await mailDeputies(context, organization_id, number);
  }
  await context.database.db.execute(
    sql`UPDATE rosters SET mail_due_at = NULL WHERE organization_id = ${organization_id}::uuid AND number = ${number}`,
  );
}

const createRosterMails = (context: AccountsContext) =>
  createDueWork<Due, Due>({
    slots: 4,
    slotsOfOwner: 1,
    readDue: () => readDueMails(context),
    getName: ({ organization_id, number }) => `${organization_id} ${number}`,
    getShare: ({ organization_id }) => ({ lane: "other", owners: [`organization ${organization_id}`] }),
    claim: ({ organization_id, number }) =>
      claimDue(context.database, {
        table: "rosters",
        key: { organization_id, number },
        dueAt: "mail_due_at",
        leaseSeconds: 300,
        set: [],
        where: [],
      }),
    attempt: (due) => sendRosterMails(context, due),
    onError: (error) => context.logger.warn({ err: error }, "a roster's mail failed; it is tried again"),
  });

export async function runRosterRound(context: AccountsContext): Promise<void> {
  await updateStale(context);
  await createRosterMails(context).run();
}
