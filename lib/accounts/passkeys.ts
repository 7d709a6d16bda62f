/**
 * Passkeys of an approver: enrolled by the person, by the link in a mail or signed in, and removed by them or an owner.
 * WebAuthn level 3, section 7.1, without attestation: nothing says which device it is.
 */
import type {
  PublicKeyCredentialCreationOptionsJSON,
  RegistrationResponseJSON,
} from "@simplewebauthn/server";
import { and, asc, count, eq, gt, isNull, lt, sql } from "drizzle-orm";
import { base64UrlDecode, utf8Decode, utf8Encode } from "#lib/core/encoding/bytes";
import { isJsonObject } from "#lib/core/encoding/canonical-json";
import { uuidV7 } from "#lib/core/encoding/ids";
import { relyingPartyOf } from "#lib/core/passkey/challenge";
import { parseCoseKey } from "#lib/core/passkey/cose-key";
import type { Executor } from "#lib/db/client";
import { approvers, passkeyChallenges, passkeys } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import type { Actor } from "#lib/http/principal";
import { approverUrl } from "./approver-links";
import { recordAudit } from "./audit";
import type { AccountsContext } from "./context";
import { passkeyEventMail } from "./mails";
import { personNotFound } from "./members";
import { lockOrganization } from "./organizations";
import { updateRoster } from "./roster";

export const maxPasskeys = 10;
/** As COSE numbers them: EdDSA, ES256. */
const algorithms = [-8, -7];
const challengeMinutes = 5;

/** An approver who has shown who they are. */
export interface Approver {
  id: string;
  organizationId: string;
  email: string;
  /** What the organization calls them. */
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

const tooMany = () =>
  new AppError("too_many_passkeys", `a person can have ${maxPasskeys} passkeys; remove one first`);

/** What the browser hands to `navigator.credentials.create`. */
export async function beginEnrolment(
  context: AccountsContext,
  approver: Approver,
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const { db } = context.database;
  const known = await listPasskeys(db, approver.id);
  if (known.length >= maxPasskeys) throw tooMany();
  const challenge = Uint8Array.from(context.random(32));
  await db.delete(passkeyChallenges).where(lt(passkeyChallenges.expires_at, sql`now()`));
  await db.insert(passkeyChallenges).values({
    challenge,
    approver_id: approver.id,
    expires_at: sql`now() + make_interval(mins => ${challengeMinutes})`,
  });
  const { generateRegistrationOptions } = await import("@simplewebauthn/server");
  return generateRegistrationOptions({
    rpName: "Countersign",
    rpID: relyingPartyOf(context.settings.baseUrl).rpId,
    userID: Uint8Array.from(utf8Encode(approver.id)),
    userName: approver.email,
    userDisplayName: approver.name,
    challenge,
    timeout: challengeMinutes * 60_000,
    attestationType: "none",
    // Discoverable, so that the page of a request need not say who may decide.
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
    excludeCredentials: known.map(({ credentialId, transports }) => ({ id: credentialId, transports })),
    supportedAlgorithmIDs: algorithms,
  });
}

const refused = (why: string, cause?: unknown) =>
  new AppError("passkey_refused", `the passkey was not enrolled: ${why}`, { cause });

interface ClientData {
  challenge: string;
  crossOrigin: boolean;
}

function readClientData({ response }: RegistrationResponseJSON): ClientData {
  try {
    const data: unknown = JSON.parse(utf8Decode(base64UrlDecode(response.clientDataJSON)));
    if (!isJsonObject(data) || typeof data["challenge"] !== "string") throw new RangeError("no challenge");
    const crossOrigin = (data["crossOrigin"] ?? false) !== false || data["topOrigin"] !== undefined;
    return { challenge: data["challenge"], crossOrigin };
  } catch (cause) {
    throw refused("the browser's answer is malformed", cause);
  }
}

/** Once, whatever comes of it. */
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
  const { origin, rpId } = relyingPartyOf(context.settings.baseUrl);
  const { verifyRegistrationResponse } = await import("@simplewebauthn/server");
  const { verified, registrationInfo } = await verifyRegistrationResponse({
    response,
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: rpId,
    requireUserVerification: true,
    supportedAlgorithmIDs: algorithms,
  }).catch((cause: unknown) => {
    throw refused("the device's answer does not verify", cause);
  });
  if (!verified) throw refused("the device's answer does not verify");
  const { credential, credentialDeviceType, credentialBackedUp } = registrationInfo;
  const key = parseCoseKey(credential.publicKey);
  if (!key.ok) throw refused(key.problem);
  return {
    credential_id: credential.id,
    public_key: Uint8Array.from(credential.publicKey),
    sign_count: credential.counter,
    backup_eligible: credentialDeviceType === "multiDevice",
    backed_up: credentialBackedUp,
    transports: (credential.transports ?? []).filter((one) => /^[a-z-]{1,32}$/.test(one)).slice(0, 8),
  };
}

/** Under the organization's lock: ten at most, and only for who has accepted. */
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
    const inserted = await tx
      .insert(passkeys)
      .values({
        ...credential,
        id,
        organization_id: organizationId,
        approver_id: approver.id,
        name,
        salt,
        created_at: context.clock(),
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

/** The person hears of what was done with their passkeys, also if they did it themselves; a mail that fails stops nothing. */
async function mailPerson(
  context: AccountsContext,
  { id, email }: Approver,
  event: Parameters<typeof passkeyEventMail>[2],
): Promise<void> {
  await context.mailer
    .send(passkeyEventMail(email, approverUrl(context, id), event))
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

/** From its commit on it decides nothing. What it decided before stays valid. */
export async function removePasskey(
  context: AccountsContext,
  approver: Approver,
  passkeyId: string,
  actor: Actor,
): Promise<void> {
  const { organizationId } = approver;
  await context.database.db.transaction(async (tx) => {
    await lockOrganization(tx, organizationId);
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
