/** Passkeys of an approver: listed, renamed and removed, by them or an owner; and enrolled. */

import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from "@simplewebauthn/server";
import { and, asc, count, eq, gt, isNotNull, isNull, lt, sql } from "drizzle-orm";
import { type Actor, type MemberPrincipal, toActor, type UserPrincipal } from "#lib/api/http/context";
import type { Executor } from "#lib/db/client";
import { approvers, organizations, passkeyChallenges, passkeys, sessions, users } from "#lib/db/schema";
import { databaseNow } from "#lib/db/shared-clock";
import { AppError } from "#lib/errors";
import { base64UrlDecode, isUuid, utf8Decode, utf8Encode, uuidV7 } from "#lib/protocol/encoding/bytes";
import { isJsonObject } from "#lib/protocol/encoding/canonical-json";
import { parseCoseKey, toRelyingParty } from "#lib/protocol/passkey/assertion";
import { maxCredentialIdBytes } from "#lib/protocol/passkey/roster";
import { confirmationDays, noticeUrl, passkeyUrl, readApproverToken } from "./approvers";
import { recordAct, recordAudit } from "./audit";
import type { AccountsContext } from "./context";
import { passkeyEventMail, passkeyMail } from "./mails";
import { holdRole, isConfirmed, personNotFound, requireRole, unconfirmed } from "./members";
import { lockOrganization } from "./organizations";
import { isEnrolled, updateRoster } from "./roster";
import { notePasskeyUse } from "./roster-proofs";

export const maxPasskeys = 10;

export interface Approver {
  id: string;
  organizationId: string;
  email: string;
  name: string;
}

const isLive = (approverId: string) => and(eq(passkeys.approver_id, approverId), isNull(passkeys.removed_at));

export async function listPasskeys(executor: Executor, approverId: string) {
  const rows = await executor
    .select({
      id: passkeys.id,
      name: passkeys.name,
      credentialId: passkeys.credential_id,
      transports: passkeys.transports,
      backedUp: passkeys.backed_up,
      createdAt: passkeys.created_at,
      lastUsedAt: passkeys.last_used_at,
    })
    .from(passkeys)
    .where(isLive(approverId))
    .orderBy(asc(passkeys.created_at), asc(passkeys.id));
  return rows.map(({ createdAt, lastUsedAt, ...row }) => ({
    ...row,
    createdAt: createdAt.toISOString(),
    lastUsedAt: lastUsedAt?.toISOString() ?? null,
  }));
}

/** The person hears of what was done with their passkeys, also if they did it themselves; a mail that fails stops nothing. */
async function mailPerson(
  context: AccountsContext,
  { id, email }: Approver,
  event: Parameters<typeof passkeyEventMail>[2],
): Promise<void> {
  await context.mailer
    .send(passkeyEventMail(email, noticeUrl(context, id), event))
    .catch((error: unknown) =>
      context.logger.warn({ err: error }, "a mail to an approver could not be sent"),
    );
}

export async function renamePasskey(
  context: AccountsContext,
  approver: Approver,
  wanted: { passkeyId: string; name: string },
  actor: Actor,
): Promise<void> {
  const { organizationId } = approver;
  await context.database.db.transaction(async (tx) => {
    const renamed = await tx
      .update(passkeys)
      .set({ name: wanted.name })
      .where(and(eq(passkeys.id, wanted.passkeyId), isLive(approver.id)))
      .returning({ id: passkeys.id });
    if (renamed.length === 0) throw personNotFound();
    const detail = { passkey: wanted.passkeyId, name: wanted.name };
    await recordAudit(context, tx, {
      organizationId,
      actor,
      action: "passkey.renamed",
      subject: approver.email,
      detail,
    });
  });
}

/**
 * Removes a passkey, which decides nothing from the commit on. What it decided before stays valid. `owner`: remover of another
 * person's.
 */
export async function removePasskey(
  context: AccountsContext,
  approver: Approver,
  passkeyId: string,
  actor: Actor,
  owner: MemberPrincipal | null = null,
): Promise<void> {
  const { organizationId } = approver;
  await context.database.db.transaction(async (tx) => {
    if (owner === null) await lockOrganization(tx, organizationId);
    else await holdRole(tx, owner, "members");
    if (owner === null) await requireSecondFactor(tx, approver, actor);
    const [removed] = await tx
      .update(passkeys)
      .set({ removed_at: sql`now()` })
      .where(and(eq(passkeys.id, passkeyId), isLive(approver.id)))
      .returning({ name: passkeys.name });
    if (!removed) throw personNotFound();
    const detail = { passkey: passkeyId, name: removed.name };
    await recordAudit(context, tx, {
      organizationId,
      actor,
      action: "passkey.removed",
      subject: approver.email,
      detail,
    });
  });
  await updateRoster(context, organizationId);
  await mailPerson(context, approver, "removed");
}

/*
 * An approver enrols a passkey, by the link in a mail or signed in. WebAuthn level 3, section 7.1, without attestation:
 * nothing says which device it is.
 */

/** COSE numbers: EdDSA, ES256, and RS256 for Windows Hello. */
const algorithms = [-8, -7, -257];
/** Asked for last, so a device that has others too makes a key that verifiers of 1.0.0 know. */
const mlDsa44 = -48;
/** Other algorithms of devices, read only to say that they can't be used. */
const unusable = [-35, -36, -37, -38, -39, -47, -49, -50, -258, -259];
const unusableKey =
  "its key is of a kind that can't be used here (ES256, EdDSA, or RS256 of 2,048 to 4,096 bits can); use another device, for example a phone";
const challengeMinutes = 5;

const tooMany = () =>
  new AppError("too_many_passkeys", `a person can have ${maxPasskeys} passkeys; remove one first`);

async function storeChallenge({ random }: AccountsContext, tx: Executor, approverId: string) {
  const challenge = Uint8Array.from(random(32));
  await tx.delete(passkeyChallenges).where(lt(passkeyChallenges.expires_at, sql`now()`));
  await tx.insert(passkeyChallenges).values({
    challenge,
    approver_id: approverId,
    expires_at: sql`now() + make_interval(mins => ${challengeMinutes})`,
  });
  return challenge;
}

export async function beginEnrolment(
  context: AccountsContext,
  approver: Approver,
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const { db } = context.database;
  const challenge = await db.transaction(async (tx) => {
    await requireRoom(tx, approver);
    return storeChallenge(context, tx, approver.id);
  });
  const known = await listPasskeys(db, approver.id);
  const { generateRegistrationOptions, SettingsService } = await import("@simplewebauthn/server");
  // The library takes no such key where the runtime hasn't ML-DSA itself (Node before 24.7).
  const more = SettingsService.runtimeSupportsPQC() ? [mlDsa44] : [];
  return generateRegistrationOptions({
    rpName: "Countersign",
    rpID: toRelyingParty(context.settings.baseUrl).rpId,
    userID: Uint8Array.from(utf8Encode(approver.id)),
    userName: approver.email,
    userDisplayName: approver.name,
    challenge,
    timeout: challengeMinutes * 60_000,
    attestationType: "none",
    // Discoverable, so that the page of a request need not say who may decide.
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
    excludeCredentials: known.map(({ credentialId, transports }) => ({ id: credentialId, transports })),
    supportedAlgorithmIDs: [...algorithms, ...more],
  });
}

const refused = (why: string, cause?: unknown) =>
  new AppError("passkey_refused", `the passkey was not enrolled: ${why}`, { cause });

interface ClientData {
  challenge: string;
  crossOrigin: boolean;
}

function readClientData({ response }: RegistrationResponseJSON | AuthenticationResponseJSON): ClientData {
  try {
    const data: unknown = JSON.parse(utf8Decode(base64UrlDecode(response.clientDataJSON)));
    if (!isJsonObject(data) || typeof data["challenge"] !== "string") throw new RangeError("no challenge");
    const crossOrigin = (data["crossOrigin"] ?? false) !== false || data["topOrigin"] !== undefined;
    return { challenge: data["challenge"], crossOrigin };
  } catch (cause) {
    throw refused("the browser's answer is malformed", cause);
  }
}

/** Takes the challenge, which counts once, whatever comes of it. */
async function takeChallenge(tx: Executor, approverId: string, challenge: string): Promise<void> {
  const isIt = eq(passkeyChallenges.challenge, readBytes(challenge));
  const taken = await tx
    .delete(passkeyChallenges)
    .where(
      and(isIt, eq(passkeyChallenges.approver_id, approverId), gt(passkeyChallenges.expires_at, sql`now()`)),
    )
    .returning({ id: passkeyChallenges.approver_id });
  if (taken.length === 0) throw refused("it took too long, or this answer was sent before; try again");
}

function readBytes(text: string): Uint8Array {
  try {
    return base64UrlDecode(text);
  } catch (cause) {
    throw refused("the browser's answer is malformed", cause);
  }
}

async function verify(context: AccountsContext, response: RegistrationResponseJSON, challenge: string) {
  const { origin, rpId } = toRelyingParty(context.settings.baseUrl);
  const { verifyRegistrationResponse } = await import("@simplewebauthn/server");
  const { verified, registrationInfo } = await verifyRegistrationResponse({
    response,
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: rpId,
    requireUserVerification: true,
    supportedAlgorithmIDs: [...algorithms, mlDsa44, ...unusable],
  }).catch((cause: unknown) => {
    const isOfKind = (cause as { code?: unknown }).code === "RUNTIME_NO_PQC_SUPPORT";
    throw refused(isOfKind ? unusableKey : "the device's answer does not verify", cause);
  });
  if (!verified) throw refused("the device's answer does not verify");
  const { credential, credentialDeviceType, credentialBackedUp } = registrationInfo;
  if (base64UrlDecode(credential.id).length > maxCredentialIdBytes)
    throw refused(`its id has more than ${maxCredentialIdBytes} bytes`);
  const key = parseCoseKey(credential.publicKey);
  if (!key.ok) throw refused(unusableKey);
  return {
    credential_id: credential.id,
    public_key: Uint8Array.from(credential.publicKey),
    sign_count: credential.counter,
    backup_eligible: credentialDeviceType === "multiDevice",
    backed_up: credentialBackedUp,
    transports: (credential.transports ?? []).filter((one) => /^[a-z-]{1,32}$/.test(one)).slice(0, 8),
  };
}

/**
 * Requires a passkey, where an organization asks for one, for adding one beside those that a person has, or for removing one: a
 * mail's link would otherwise stand in for the second factor.
 */
export async function requireSecondFactor(tx: Executor, approver: Approver, actor: Actor): Promise<void> {
  const { id, organizationId } = approver;
  const [found] = await tx
    .select({
      isAsked: sql<boolean>`cardinality(${organizations.second_factor}) > 0`,
      isConfirmed: isConfirmed({
        userId: sql`(SELECT ${users.id} FROM ${users} WHERE ${users.email} = ${actor.id})`,
        session: actor.session ?? "",
        organizationId,
      }),
      own: sql<number>`(SELECT ${count()}::int FROM ${passkeys} WHERE ${isLive(id)})`,
    })
    .from(organizations)
    .where(eq(organizations.id, organizationId));
  if (!found?.isAsked || found.isConfirmed || found.own === 0) return;
  if (actor.session !== undefined) throw unconfirmed();
  throw new AppError(
    "forbidden",
    "your organization asks for a passkey here: sign in and confirm with one of yours, or ask an owner to remove the lost one",
  );
}

/** Ten at most, which holds under the organization's lock, and only for who has accepted, until the commit. */
async function requireRoom(tx: Executor, { id }: Approver): Promise<void> {
  const [known] = await tx
    .select({ status: approvers.status })
    .from(approvers)
    .where(eq(approvers.id, id))
    .for("no key update");
  if (known?.status !== "confirmed") throw personNotFound();
  const [listed] = await tx.select({ count: count() }).from(passkeys).where(isLive(id));
  if ((listed?.count ?? 0) >= maxPasskeys) throw tooMany();
}

export interface WantedPasskey {
  name: string;
  response: RegistrationResponseJSON;
}

/** False in `isListed` if the roster could not be logged yet: the passkey counts from then on. */
export async function finishEnrolment(
  context: AccountsContext,
  approver: Approver,
  { name, response }: WantedPasskey,
  actor: Actor,
): Promise<{ isListed: boolean }> {
  const { db } = context.database;
  const { challenge, crossOrigin } = readClientData(response);
  await takeChallenge(db, approver.id, challenge);
  if (crossOrigin) throw refused("it was made inside another site's page");
  const credential = await verify(context, response, challenge);
  const { organizationId } = approver;
  const id = uuidV7(context.clock().getTime(), context.random(16));
  const salt = context.random(16);
  await db.transaction(async (tx) => {
    await lockOrganization(tx, organizationId);
    await requireRoom(tx, approver);
    await requireSecondFactor(tx, approver, actor);
    const inserted = await tx
      .insert(passkeys)
      .values({
        ...credential,
        id,
        organization_id: organizationId,
        approver_id: approver.id,
        name,
        salt,
        // Signed in rosters, whose own time is later.
        created_at: databaseNow,
      })
      .onConflictDoNothing({ target: passkeys.credential_id })
      .returning({ id: passkeys.id });
    if (inserted.length === 0) throw refused("this passkey is enrolled already");
    await recordAudit(context, tx, {
      organizationId,
      actor,
      action: "passkey.enrolled",
      subject: approver.email,
      detail: { passkey: id, name },
    });
  });
  await mailPerson(context, approver, "enrolled");
  return { isListed: await updateRoster(context, organizationId) };
}

/* Access to an approver's passkeys: the person, by a mail that is fresh or signed in with its address. */

export interface Acting {
  approver: Approver;
  actor: Actor;
}

const columns = {
  id: approvers.id,
  organizationId: approvers.organization_id,
  email: sql<string>`${approvers.email}`,
  name: sql<string>`${approvers.name}`,
  organizationName: organizations.name,
  /** The mail that asked them to be an approver came lately. */
  isAskedLately: sql<boolean>`coalesce(${approvers.invited_at} > now() - make_interval(days => ${confirmationDays}), false)`,
};

/** Confirmed people whom the organization has named. */
const isApprover = and(
  eq(approvers.status, "confirmed"),
  isNotNull(approvers.email),
  isNotNull(approvers.name),
  isNull(organizations.deleted_at),
);

async function findById({ database }: AccountsContext, id: string) {
  const [row] = await database.db
    .select(columns)
    .from(approvers)
    .innerJoin(organizations, eq(organizations.id, approvers.organization_id))
    .where(and(eq(approvers.id, id), isApprover));
  return row;
}

/**
 * The approver of a link; null for one who may not enrol. `mayManage`: by a fresh link, or to enrol the first passkey
 * ever by the mail that asked them. Every other mail may be old, forwarded or in somebody else's archive. `mayNotify`: the
 * first passkey's page goes on for a while, to add the device that it was made on.
 */
export async function readPasskeyLink(context: AccountsContext, token: string) {
  const { id, freshUntil } = readApproverToken(context, token);
  const approver = await findById(context, id);
  if (!approver) return null;
  const [ever] = await context.database.db
    .select({
      count: count(),
      isNew: sql<boolean>`coalesce(max(${passkeys.created_at}) > now() - interval '15 minutes', false)`,
    })
    .from(passkeys)
    .where(eq(passkeys.approver_id, id));
  const isFirst = freshUntil === null && (ever?.count ?? 0) === 0 && approver.isAskedLately;
  const isJustMade = freshUntil === null && ever?.count === 1 && ever.isNew && approver.isAskedLately;
  const isFresh = freshUntil !== null && freshUntil * 1000 > context.clock().getTime();
  const mayManage = isFresh || isFirst;
  return { approver, mayManage, mayNotify: mayManage || isJustMade, isExpired: !!freshUntil && !isFresh };
}

export async function requirePasskeyLink(
  context: AccountsContext,
  token: string,
  ip: string,
  may: "mayManage" | "mayNotify" = "mayManage",
): Promise<Acting> {
  const link = await readPasskeyLink(context, token);
  if (link === null) throw personNotFound();
  if (!link[may]) throw new AppError("forbidden", "this link has expired; request a new one on its page");
  return { approver: link.approver, actor: { kind: "human", id: link.approver.email, ip } };
}

/** Mails to the approver's own address, never to the holder of the old link. */
export async function mailPasskeyLink(context: AccountsContext, token: string): Promise<void> {
  const approver = await findById(context, readApproverToken(context, token).id);
  if (!approver) throw personNotFound();
  await context.mailer.send(passkeyMail(approver.email, passkeyUrl(context, approver.id)));
}

/** Lists all organizations that the signed-in person approves for. */
export async function listOwnApprovers({ database }: AccountsContext, { email }: UserPrincipal) {
  return database.db
    .select(columns)
    .from(approvers)
    .innerJoin(organizations, eq(organizations.id, approvers.organization_id))
    .where(and(eq(approvers.email, email), isApprover))
    .orderBy(approvers.created_at);
}

export async function requireOwnApprover(
  context: AccountsContext,
  user: UserPrincipal,
  approverId: string,
): Promise<Acting> {
  const approver = isUuid(approverId) ? await findById(context, approverId) : undefined;
  if (approver?.email !== user.email) throw personNotFound();
  return { approver, actor: toActor(user) };
}

export async function requireOwnerAbout(
  context: AccountsContext,
  person: MemberPrincipal,
  approverId: string,
): Promise<Acting> {
  await requireRole(context.database.db, person, "members");
  const approver = await findById(context, approverId);
  if (approver?.organizationId !== person.organizationId) throw personNotFound();
  return { approver, actor: toActor(person) };
}

/* A passkey as a second factor: it counts for some minutes, in the session and the organization that it was used in. */

const notConfirmed = (why: string, cause?: unknown) =>
  new AppError("passkey_refused", `nothing was confirmed: ${why}`, { cause });

async function findOwnApprover({ database }: AccountsContext, { email, organizationId }: MemberPrincipal) {
  const [own] = await database.db
    .select({ id: approvers.id })
    .from(approvers)
    .where(
      and(
        eq(approvers.organization_id, organizationId),
        eq(approvers.email, email),
        eq(approvers.status, "confirmed"),
      ),
    );
  if (own !== undefined) return own.id;
  throw notConfirmed("passkeys belong to approvers, and you are none here: ask an owner to add you");
}

/** True if the person could confirm with one here. */
export async function hasPasskey(
  { database }: AccountsContext,
  { email, organizationId }: MemberPrincipal,
): Promise<boolean> {
  const [own] = await database.db
    .select({ id: passkeys.id })
    .from(passkeys)
    .innerJoin(approvers, eq(approvers.id, passkeys.approver_id))
    .where(and(eq(approvers.organization_id, organizationId), eq(approvers.email, email), isEnrolled))
    .limit(1);
  return own !== undefined;
}

export async function beginConfirmation(
  context: AccountsContext,
  person: MemberPrincipal,
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const { db } = context.database;
  await requireRole(db, person, "read");
  const id = await findOwnApprover(context, person);
  const known = await listPasskeys(db, id);
  if (known.length === 0) throw notConfirmed("you have no passkey yet: create one in your inbox first");
  const challenge = await storeChallenge(context, db, id);
  const { generateAuthenticationOptions } = await import("@simplewebauthn/server");
  return generateAuthenticationOptions({
    rpID: toRelyingParty(context.settings.baseUrl).rpId,
    challenge,
    timeout: challengeMinutes * 60_000,
    userVerification: "required",
    allowCredentials: known.map(({ credentialId, transports }) => ({ id: credentialId, transports })),
  });
}

export async function finishConfirmation(
  context: AccountsContext,
  person: MemberPrincipal,
  response: AuthenticationResponseJSON,
): Promise<void> {
  const { db } = context.database;
  const { organizationId, userId, session } = person;
  const approverId = await findOwnApprover(context, person);
  const { challenge, crossOrigin } = readClientData(response);
  await takeChallenge(db, approverId, challenge);
  if (crossOrigin) throw notConfirmed("it was made inside another site's page");
  const [own] = await db
    .select()
    .from(passkeys)
    .where(and(isLive(approverId), eq(passkeys.credential_id, response.id)));
  if (own === undefined) throw notConfirmed("this passkey is not one of yours here");
  const { origin, rpId } = toRelyingParty(context.settings.baseUrl);
  const { verifyAuthenticationResponse } = await import("@simplewebauthn/server");
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    response,
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: rpId,
    requireUserVerification: true,
    credential: {
      id: own.credential_id,
      publicKey: Uint8Array.from(own.public_key),
      counter: own.sign_count,
    },
  }).catch((cause: unknown) => {
    throw notConfirmed("the device's answer does not verify", cause);
  });
  if (!verified) throw notConfirmed("the device's answer does not verify");
  await db.transaction(async (tx) => {
    await holdRole(tx, person, "read");
    const use = { signCount: authenticationInfo.newCounter, backedUp: authenticationInfo.credentialBackedUp };
    if (!(await notePasskeyUse(tx, own.id, use)))
      throw notConfirmed("the passkey was removed, or its counter didn't grow");
    const confirmed = await tx
      .update(sessions)
      .set({ confirmedAt: sql`now()`, confirmedFor: organizationId })
      .where(
        and(eq(sessions.userId, userId), sql`'sess_' || left(${sessions.sessionToken}, 12) = ${session}`),
      )
      .returning({ userId: sessions.userId });
    if (confirmed.length === 0) throw new AppError("forbidden", "your session has ended; sign in again");
    await recordAct(context, tx, person, {
      action: "session.confirmed",
      subject: person.email,
      detail: { passkey: own.id },
    });
  });
}
