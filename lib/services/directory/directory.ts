/**
 * People and groups as the company's directory has them (SCIM). Each write is one transaction under the organization's lock, and
 * what it says about access holds from its commit.
 */
import { and, asc, eq, inArray, isNotNull, isNull, ne, notInArray, sql } from "drizzle-orm";
import { type Actor, type KeyPrincipal, type MemberPrincipal, toActor } from "#lib/api/http/context";
import { validate } from "#lib/api/http/pipeline";
import { emailAddress } from "#lib/api/schemas/keys";
import { type ScimKind, type ScimResource, scimKinds, scimShapes } from "#lib/api/schemas/scim";
import type { Executor } from "#lib/db/client";
import {
  directoryGroups,
  directoryMembers,
  directoryUsers,
  memberships,
  organizationDomains,
  sessions,
  users,
} from "#lib/db/schema";
import { AppError, fieldError } from "#lib/errors";
import { isUuid, uuidV7 } from "#lib/protocol/encoding/bytes";
import { canonicalJson, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { describeWithdrawn, forgetApprover } from "#lib/services/accounts/approvers";
import { recordAct, recordAudit } from "#lib/services/accounts/audit";
import { endMembership, revokeKeysMadeBy } from "#lib/services/accounts/change-role";
import type { AccountsContext } from "#lib/services/accounts/context";
import { hasRoom, requireFewOrganizations, withdrawInvitationsTo } from "#lib/services/accounts/invitations";
import { listMemberships, requireRole } from "#lib/services/accounts/members";
import { holdOrCreateUser, lockOrganization, readDomain } from "#lib/services/accounts/organizations";
import { applyDirectoryGroups, hasDirectoryGroups } from "#lib/services/accounts/provider-groups";
import { updateRoster } from "#lib/services/accounts/roster";
import { lockAndRecheckKey } from "#lib/services/keys/authenticate";

const maxResources = 1_000;

type User = ScimResource["User"];
type Group = ScimResource["Group"];
type UserRow = typeof directoryUsers.$inferSelect;

const notFound = () => new AppError("not_found", "nothing exists with this id");
const changedMeanwhile = () =>
  new AppError("service_unavailable", "the person was changed at the same moment; try again");

const parse = <Kind extends ScimKind>(kind: Kind, read: JsonObject): ScimResource[Kind] =>
  validate(scimShapes[kind], read, "validation_error");

/* Answers. */

type Of = Pick<AccountsContext["settings"], "baseUrl">;

const locate = ({ baseUrl }: Of, kind: ScimKind, id: string) =>
  `${baseUrl}/scim/v2${scimKinds[kind].path}/${id}`;

const describe = (
  settings: Of,
  kind: ScimKind,
  { id, created_at, updated_at }: { id: string; created_at: Date; updated_at: Date },
  attributes: JsonObject,
): JsonObject => ({
  schemas: [scimKinds[kind].urn],
  id,
  ...attributes,
  meta: {
    resourceType: kind,
    created: created_at.toISOString(),
    lastModified: updated_at.toISOString(),
    location: locate(settings, kind, id),
  },
});

const toUser = ({ external_id, user_name, active, attributes }: UserRow): User => ({
  ...(external_id !== null && { externalId: external_id }),
  userName: user_name,
  active,
  ...(JSON.parse(attributes) as Pick<User, "name" | "displayName" | "emails">),
});

const toGroup = (row: { external_id: string | null; display_name: string }, memberIds: string[]): Group => ({
  ...(row.external_id !== null && { externalId: row.external_id }),
  displayName: row.display_name,
  members: memberIds.map((value) => ({ value })),
});

/** Reads in the order of creation. */
async function readUsers(executor: Executor, settings: Of, organizationId: string): Promise<JsonObject[]> {
  const rows = await executor
    .select()
    .from(directoryUsers)
    .where(eq(directoryUsers.organization_id, organizationId))
    .orderBy(asc(directoryUsers.id));
  const places = await readPlaces(executor, organizationId);
  return rows.map((row) => {
    const groups = places
      .filter(({ userId }) => userId === row.id)
      .map(({ groupId, groupName }) => ({
        value: groupId,
        $ref: locate(settings, "Group", groupId),
        display: groupName,
      }));
    return describe(settings, "User", row, { ...(toUser(row) as JsonObject), groups });
  });
}

async function readGroups(executor: Executor, settings: Of, organizationId: string): Promise<JsonObject[]> {
  const rows = await executor
    .select()
    .from(directoryGroups)
    .where(eq(directoryGroups.organization_id, organizationId))
    .orderBy(asc(directoryGroups.id));
  const places = await readPlaces(executor, organizationId);
  return rows.map((row) => {
    const members = places
      .filter(({ groupId }) => groupId === row.id)
      .map(({ userId }) => ({ value: userId, $ref: locate(settings, "User", userId) }));
    return describe(settings, "Group", row, { ...(toGroup(row, []) as JsonObject), members });
  });
}

const readPlaces = (executor: Executor, organizationId: string) =>
  executor
    .select({
      userId: directoryMembers.user_id,
      groupId: directoryMembers.group_id,
      groupName: directoryGroups.display_name,
    })
    .from(directoryMembers)
    .innerJoin(directoryGroups, eq(directoryGroups.id, directoryMembers.group_id))
    .where(eq(directoryGroups.organization_id, organizationId))
    .orderBy(asc(directoryMembers.user_id), asc(directoryMembers.group_id));

/** An organization has a thousand of a kind at most. */
export const readResources = (
  { database: { db }, settings }: AccountsContext,
  { organizationId }: Pick<KeyPrincipal, "organizationId">,
  kind: ScimKind,
): Promise<JsonObject[]> => (kind === "User" ? readUsers : readGroups)(db, settings, organizationId);

export async function findResource(
  context: AccountsContext,
  key: Pick<KeyPrincipal, "organizationId">,
  kind: ScimKind,
  id: string,
): Promise<JsonObject> {
  const found = (await readResources(context, key, kind)).find((one) => one["id"] === id);
  if (found === undefined) throw notFound();
  return found;
}

/*
 * Does at once as the directory says about a person's access. Who is activated becomes a member if the organization has
 * verified the domain of their address: the key speaks for nobody else. Who is deactivated loses sessions, API keys, the
 * membership and their places as approver in the transaction that says so, and comes back only by the directory.
 */

interface Person {
  organizationId: string;
  email: string;
  actor: Actor;
}

async function isOwnDomain(executor: Executor, organizationId: string, email: string): Promise<boolean> {
  const [found] = await executor
    .select({ id: organizationDomains.id })
    .from(organizationDomains)
    .where(
      and(
        eq(organizationDomains.organization_id, organizationId),
        eq(organizationDomains.domain, readDomain(email)),
        isNotNull(organizationDomains.verified_since),
      ),
    );
  return found !== undefined;
}

async function findMember(tx: Executor, { organizationId, email }: Person): Promise<string | null> {
  const [member] = await tx
    .select({ userId: users.id })
    .from(users)
    .innerJoin(memberships, eq(memberships.user_id, users.id))
    .where(and(eq(users.email, email), eq(memberships.organization_id, organizationId)));
  return member?.userId ?? null;
}

type Admission = "member" | "unverified_domain" | "organization_full";

/** `userId`: of their account, which is held; null where the domain isn't the organization's. Under its lock. */
async function admitPerson(
  context: AccountsContext,
  tx: Executor,
  of: Person,
  userId: string | null,
): Promise<Admission> {
  const { organizationId, email, actor } = of;
  if ((await findMember(tx, of)) !== null) return "member";
  if (userId === null) return "unverified_domain";
  if (!(await hasRoom(tx, organizationId))) return "organization_full";
  await requireFewOrganizations(tx, userId);
  await tx.insert(memberships).values({ organization_id: organizationId, user_id: userId, role: "member" });
  await recordAudit(context, tx, {
    organizationId,
    actor,
    action: "member.joined",
    subject: email,
    detail: { role: "member", by_directory: true },
  });
  return "member";
}

/**
 * Ends access, under the organization's lock, and returns the audit log's detail. The caller updates the roster after the
 * commit.
 */
async function endAccess(context: AccountsContext, tx: Executor, of: Person): Promise<JsonObject> {
  const { organizationId, email, actor } = of;
  const invited = await withdrawInvitationsTo(tx, organizationId, email);
  const detail: JsonObject = {
    by_directory: true,
    ...(invited.length > 0 && { withdrawn_invitations: true }),
  };
  const userId = await findMember(tx, of);
  if (userId === null) {
    // An approver may belong to no organization, and a former member's keys may have been left to work.
    const revoked_keys = await revokeKeysMadeBy(context, tx, organizationId, email);
    const withdrawn = await forgetApprover(tx, organizationId, email, "deactivated");
    return { ...detail, revoked_keys, ...describeWithdrawn(withdrawn) };
  }
  const how = { revokeKeys: true, as: "deactivated" } as const;
  await endMembership(context, tx, how, { organizationId, userId, actor, detail });
  // A session is the person's in all organizations: a guest's other ones keep it, for their address isn't this one's to end.
  const isOurs = await isOwnDomain(tx, organizationId, email);
  if (!isOurs && (await listMemberships(tx, userId)).length > 0) return { ...detail, sessions: 0 };
  const ended = await tx
    .delete(sessions)
    .where(eq(sessions.userId, userId))
    .returning({ userId: sessions.userId });
  return { ...detail, sessions: ended.length };
}

/* Writes. */

/** Maps what is there now, null for nothing, to what shall be there, null for nothing. */
export type Make = (now: JsonObject | null) => JsonObject | null;

/** Finds the person's address in the directory's data; null if it gave none. */
function findEmail({ userName, emails }: User): string | null {
  const named = emails.find(({ primary }) => primary) ?? emails[0];
  const parsed = emailAddress.safeParse(named?.value ?? userName);
  return parsed.success ? parsed.data : null;
}

async function findUser(executor: Executor, organizationId: string, id: string): Promise<UserRow> {
  const [row] = isUuid(id)
    ? await executor
        .select()
        .from(directoryUsers)
        .where(and(eq(directoryUsers.organization_id, organizationId), eq(directoryUsers.id, id)))
    : [];
  if (row === undefined) throw notFound();
  return row;
}

/** Runs under the organization's lock, so that of two concurrent creations one fails. */
async function requireFreeUser(
  tx: Executor,
  organizationId: string,
  id: string | null,
  { userName, email }: { userName: string; email: string | null },
): Promise<void> {
  const others = await tx
    .select({ name: sql<string>`lower(${directoryUsers.user_name})`, email: directoryUsers.email })
    .from(directoryUsers)
    .where(
      and(
        eq(directoryUsers.organization_id, organizationId),
        id === null ? undefined : ne(directoryUsers.id, id),
      ),
    );
  if (others.some(({ name }) => name === userName.toLowerCase()))
    throw new AppError("already_exists", "userName: is another person's");
  if (email !== null && others.some((one) => one.email === email))
    throw new AppError("already_exists", `emails: ${email} is another person's`);
  if (others.length >= maxResources)
    throw new AppError("validation_error", `an organization can have ${maxResources} people of a directory`);
}

const newId = (context: AccountsContext) => uuidV7(context.clock().getTime(), context.random(16));

async function storeUser(
  context: AccountsContext,
  tx: Executor,
  organizationId: string,
  before: UserRow | null,
  { externalId, userName, active, ...rest }: User,
): Promise<UserRow> {
  const set = {
    external_id: externalId ?? null,
    user_name: userName,
    active,
    email: findEmail({ userName, active, ...rest }),
    attributes: canonicalJson(rest as JsonObject),
    updated_at: context.clock(),
  };
  const stored =
    before === null
      ? await tx
          .insert(directoryUsers)
          .values({ id: newId(context), organization_id: organizationId, created_at: set.updated_at, ...set })
          .returning()
      : await tx.update(directoryUsers).set(set).where(eq(directoryUsers.id, before.id)).returning();
  const [row] = stored;
  if (row === undefined) throw notFound();
  return row;
}

function nameUserChange(before: UserRow | null, after: User | null): string {
  if (before === null) return "directory_user.created";
  if (after === null) return "directory_user.removed";
  if (before.active !== after.active) return `directory_user.${after.active ? "activated" : "deactivated"}`;
  return "directory_user.changed";
}

/** The person's account is held before the organization's lock, as invitations take them. */
async function holdAccount(
  context: AccountsContext,
  tx: Executor,
  organizationId: string,
  email: string | null,
): Promise<string | null> {
  const isOurs = email !== null && (await isOwnDomain(tx, organizationId, email));
  return isOurs ? holdOrCreateUser(context, tx, email) : null;
}

const speaksFor = (user: User | null) => (user?.active ? findEmail(user) : null);

/** The person's id; null if they are gone. */
export async function writeUser(
  context: AccountsContext,
  key: KeyPrincipal,
  id: string | null,
  make: Make,
): Promise<string | null> {
  const { organizationId } = key;
  const actor = toActor(key);
  const { db } = context.database;
  const makeUser = (before: UserRow | null) => {
    const made = make(before && (toUser(before) as JsonObject));
    return made && parse("User", made);
  };
  const expected = speaksFor(makeUser(id === null ? null : await findUser(db, organizationId, id)));
  const done = await db.transaction(async (tx) => {
    const accountId = await holdAccount(context, tx, organizationId, expected);
    await lockOrganization(tx, organizationId);
    await lockAndRecheckKey(tx, key, "members", "scim");
    const before = id === null ? null : await findUser(tx, organizationId, id);
    const after = makeUser(before);
    if (speaksFor(after) !== expected) throw changedMeanwhile();
    const email = after && findEmail(after);
    if (after !== null) await requireFreeUser(tx, organizationId, id, { userName: after.userName, email });
    const isSame =
      before !== null &&
      after !== null &&
      canonicalJson(toUser(before) as JsonObject) === canonicalJson(after as JsonObject);
    const row =
      after === null || isSame ? before : await storeUser(context, tx, organizationId, before, after);
    const of = { organizationId, actor };
    // Deleted, or another account from now on.
    const left = before?.email != null && before.email !== email ? before.email : null;
    const ended = left === null ? {} : await endAccess(context, tx, { ...of, email: left });
    if (email !== null && after?.active === false)
      Object.assign(ended, await endAccess(context, tx, { ...of, email }));
    const access =
      expected === null ? null : await admitPerson(context, tx, { ...of, email: expected }, accountId);
    if (after === null && before !== null)
      await tx.delete(directoryUsers).where(eq(directoryUsers.id, before.id));
    if (!isSame)
      await recordAudit(context, tx, {
        ...of,
        action: nameUserChange(before, after),
        subject: after?.userName ?? before?.user_name ?? "",
        detail: { email: email ?? left, ...(access !== null && { access }), ...ended },
      });
    const isPlaced =
      access === "member" &&
      (await hasDirectoryGroups(tx, organizationId)) &&
      (await applyDirectoryGroups(context, tx, { ...of, only: row === null ? [] : [row.id] }));
    return {
      id: after === null ? null : (row?.id ?? null),
      isStale: isPlaced || left !== null || after?.active === false,
    };
  });
  if (done.isStale) await updateRoster(context, organizationId);
  return done.id;
}

async function findGroup(executor: Executor, organizationId: string, id: string) {
  const [row] = isUuid(id)
    ? await executor
        .select()
        .from(directoryGroups)
        .where(and(eq(directoryGroups.organization_id, organizationId), eq(directoryGroups.id, id)))
    : [];
  if (row === undefined) throw notFound();
  const places = await executor
    .select({ id: directoryMembers.user_id })
    .from(directoryMembers)
    .where(eq(directoryMembers.group_id, id));
  return { row, memberIds: places.map((place) => place.id) };
}

/** An owner maps a group by its name or by its id: one that is called as another's id would have what that was given. */
async function requireFreeGroup(
  tx: Executor,
  organizationId: string,
  id: string | null,
  { displayName, externalId }: Group,
): Promise<void> {
  const others = await tx
    .select({
      name: sql<string>`lower(${directoryGroups.display_name})`,
      externalId: sql<string | null>`lower(${directoryGroups.external_id})`,
    })
    .from(directoryGroups)
    .where(
      and(
        eq(directoryGroups.organization_id, organizationId),
        id === null ? undefined : ne(directoryGroups.id, id),
      ),
    );
  const name = displayName.toLowerCase();
  if (others.some((one) => one.name === name || one.externalId === name))
    throw new AppError("already_exists", "displayName: is another group's");
  if (others.some((one) => one.name === externalId?.toLowerCase()))
    throw new AppError("already_exists", "externalId: is another group's name");
  if (others.length >= maxResources)
    throw new AppError("validation_error", `an organization can have ${maxResources} groups of a directory`);
}

/** Requires the people with these ids; returns their names for the audit log. */
async function requirePeople(
  tx: Executor,
  organizationId: string,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const found =
    ids.length === 0
      ? []
      : await tx
          .select({ id: directoryUsers.id, name: directoryUsers.user_name })
          .from(directoryUsers)
          .where(
            and(eq(directoryUsers.organization_id, organizationId), inArray(directoryUsers.id, [...ids])),
          );
  const names = new Map(found.map(({ id, name }) => [id, name]));
  const unknown = ids.find((id) => !names.has(id));
  if (unknown !== undefined)
    throw fieldError("validation_error", "members", `no person has the id ${unknown}`);
  return names;
}

async function storeGroup(
  context: AccountsContext,
  tx: Executor,
  organizationId: string,
  id: string | null,
  { externalId, displayName, members }: Group,
): Promise<string> {
  const set = { external_id: externalId ?? null, display_name: displayName, updated_at: context.clock() };
  const groupId = id ?? newId(context);
  await tx
    .insert(directoryGroups)
    .values({ id: groupId, organization_id: organizationId, created_at: set.updated_at, ...set })
    .onConflictDoUpdate({ target: directoryGroups.id, set });
  const ids = [...new Set(members.map(({ value }) => value))];
  const isGone = ids.length === 0 ? undefined : notInArray(directoryMembers.user_id, ids);
  await tx.delete(directoryMembers).where(and(eq(directoryMembers.group_id, groupId), isGone));
  if (ids.length > 0)
    await tx
      .insert(directoryMembers)
      .values(ids.map((user_id) => ({ group_id: groupId, user_id })))
      .onConflictDoNothing();
  return groupId;
}

/** The group's id; null if it is gone. */
export async function writeGroup(
  context: AccountsContext,
  key: KeyPrincipal,
  id: string | null,
  make: Make,
): Promise<string | null> {
  const { organizationId } = key;
  const actor = toActor(key);
  const done = await context.database.db.transaction(async (tx) => {
    await lockOrganization(tx, organizationId);
    await lockAndRecheckKey(tx, key, "members", "scim");
    const found = id === null ? null : await findGroup(tx, organizationId, id);
    const before = found && toGroup(found.row, found.memberIds);
    const made = make(before as JsonObject | null);
    const after = made && parse("Group", made);
    const had = found?.memberIds ?? [];
    const has = after?.members.map(({ value }) => value) ?? [];
    const added = has.filter((one) => !had.includes(one));
    const gone = had.filter((one) => !has.includes(one));
    const isRenamed = before?.displayName !== after?.displayName || before?.externalId !== after?.externalId;
    if (before !== null && !isRenamed && added.length + gone.length === 0) return { id, isStale: false };
    const names = await requirePeople(tx, organizationId, [...new Set([...had, ...has])]);
    if (after !== null) await requireFreeGroup(tx, organizationId, id, after);
    else if (id !== null) await tx.delete(directoryGroups).where(eq(directoryGroups.id, id));
    const groupId = after === null ? null : await storeGroup(context, tx, organizationId, id, after);
    const toNames = (ids: readonly string[]) => ids.map((one) => names.get(one) ?? one);
    const verb = before === null ? "created" : after === null ? "removed" : "changed";
    await recordAct(context, tx, key, {
      action: `directory_group.${verb}`,
      subject: (after ?? before)?.displayName ?? "",
      detail: {
        ...(isRenamed && before !== null && after !== null && { before: before.displayName }),
        added: toNames(added),
        removed: toNames(gone),
      },
    });
    const only = isRenamed ? [...new Set([...had, ...has])] : [...added, ...gone];
    return { id: groupId, isStale: await applyDirectoryGroups(context, tx, { organizationId, actor, only }) };
  });
  if (done.isStale) await updateRoster(context, organizationId);
  return done.id;
}

/* Queries of the portal. */

/** Active people whom the directory named and who are no members, with their addresses. */
const selectWaiting = (executor: Executor, organizationId: string) =>
  executor
    .select({ id: directoryUsers.id, userName: directoryUsers.user_name, email: directoryUsers.email })
    .from(directoryUsers)
    .leftJoin(users, eq(users.email, directoryUsers.email))
    .leftJoin(
      memberships,
      and(eq(memberships.user_id, users.id), eq(memberships.organization_id, directoryUsers.organization_id)),
    )
    .where(
      and(
        eq(directoryUsers.organization_id, organizationId),
        eq(directoryUsers.active, true),
        isNull(memberships.user_id),
      ),
    )
    .orderBy(asc(directoryUsers.id));

/** Null where no directory has sent anything. */
export async function describeDirectory(context: AccountsContext, person: MemberPrincipal) {
  const { db } = context.database;
  await requireRole(db, person, "read");
  const isOurs = eq(directoryUsers.organization_id, person.organizationId);
  const [counted] = await db
    .select({
      people: sql<number>`count(*)::int`,
      active: sql<number>`count(*) FILTER (WHERE ${directoryUsers.active})::int`,
    })
    .from(directoryUsers)
    .where(isOurs);
  const groups = await db
    .select({ name: directoryGroups.display_name })
    .from(directoryGroups)
    .where(eq(directoryGroups.organization_id, person.organizationId))
    .orderBy(asc(directoryGroups.display_name));
  if ((counted?.people ?? 0) + groups.length === 0) return null;
  const waiting = await selectWaiting(db, person.organizationId);
  return {
    people: counted?.people ?? 0,
    active: counted?.active ?? 0,
    groups: groups.map(({ name }) => name),
    waiting: waiting.map(({ userName }) => userName),
  };
}

/** Admits, after a domain was verified, people whom the directory had named before. */
export async function admitWaiting(
  context: AccountsContext,
  { organizationId, actor }: { organizationId: string; actor: Actor },
): Promise<void> {
  const { db } = context.database;
  const waiting = await selectWaiting(db, organizationId);
  for (const { id, email } of waiting) {
    const isStale = await db.transaction(async (tx) => {
      const accountId = await holdAccount(context, tx, organizationId, email);
      await lockOrganization(tx, organizationId);
      const row = await findUser(tx, organizationId, id);
      if (!row.active || email === null || row.email !== email) return false;
      const of = { organizationId, actor };
      if ((await admitPerson(context, tx, { ...of, email }, accountId)) !== "member") return false;
      if (!(await hasDirectoryGroups(tx, organizationId))) return false;
      return applyDirectoryGroups(context, tx, { ...of, only: [id] });
    });
    if (isStale) await updateRoster(context, organizationId);
  }
}
