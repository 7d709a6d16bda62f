/**
 * An approver enrols a passkey, by the link in a mail or signed in. WebAuthn level 3, section 7.1, without attestation:
 * nothing says which device it is.
 */
import type {
  PublicKeyCredentialCreationOptionsJSON,
  RegistrationResponseJSON,
} from "@simplewebauthn/server";
import { and, count, eq, gt, lt, sql } from "drizzle-orm";
import type { Actor } from "#lib/api/http/principal";
import type { Executor } from "#lib/db/client";
import { approvers, passkeyChallenges, passkeys } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { base64UrlDecode, utf8Decode, utf8Encode } from "#lib/protocol/encoding/bytes";
import { isJsonObject } from "#lib/protocol/encoding/canonical-json";
import { uuidV7 } from "#lib/protocol/encoding/ids";
import { relyingPartyOf } from "#lib/protocol/passkey/challenge";
import { parseCoseKey } from "#lib/protocol/passkey/cose-key";
import { maxCredentialIdBytes } from "#lib/protocol/passkey/roster-shape";
import { recordAudit } from "./audit";
import type { AccountsContext } from "./context";
import { personNotFound } from "./members";
import { lockOrganization } from "./organizations";
import { type Approver, isLive, listPasskeys, mailPerson, maxPasskeys } from "./passkeys";
import { updateRoster } from "./roster";

/** As COSE numbers them: EdDSA, ES256, and RS256 for Windows Hello. */
const algorithms = [-8, -7, -257];
/** Other algorithms of devices, read only to say that they can't be used. */
const unusable = [-35, -36, -37, -38, -39, -47, -258, -259];
const unusableKey =
  "its key is of a kind that can't be used here (ES256, EdDSA, or RS256 of 2,048 to 4,096 bits can); use another device, for example a phone";
const challengeMinutes = 5;

const tooMany = () =>
  new AppError("too_many_passkeys", `a person can have ${maxPasskeys} passkeys; remove one first`);

/** Options for the browser's `navigator.credentials.create`. */
export async function beginEnrolment(
  context: AccountsContext,
  approver: Approver,
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const { db } = context.database;
  const challenge = Uint8Array.from(context.random(32));
  await db.delete(passkeyChallenges).where(lt(passkeyChallenges.expires_at, sql`now()`));
  await db.transaction(async (tx) => {
    await requireRoom(tx, approver);
    await tx.insert(passkeyChallenges).values({
      challenge,
      approver_id: approver.id,
      expires_at: sql`now() + make_interval(mins => ${challengeMinutes})`,
    });
  });
  const known = await listPasskeys(db, approver.id);
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
    supportedAlgorithmIDs: [...algorithms, ...unusable],
  }).catch((cause: unknown) => {
    throw refused("the device's answer does not verify", cause);
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
