/** The eleven checks of a human_authorization. Heavy (schemas, BN254 pairings): imported when needed. */
import { humanAuthorizationSchema } from "#lib/contract/human-authorization";
import type { HumanAuthorization } from "#lib/domain/approval";
import type { JsonObject } from "#lib/domain/canonical-json";
import { verifyEd25519Strict } from "#lib/domain/ed25519";
import { type AuthorizationReport, verifyHumanAuthorization } from "#lib/domain/verify-human-authorization";
import type { VerifierTrust } from "./trust";

/** Null for an object that is none. */
export function checkAuthorization(object: JsonObject, trust: VerifierTrust): AuthorizationReport | null {
  const parsed = humanAuthorizationSchema.safeParse(object);
  if (!parsed.success) return null;
  return verifyHumanAuthorization(parsed.data as HumanAuthorization, {
    serviceKeys: (keyId) => trust.keys.find((key) => key.keyId === keyId)?.publicKey,
    verifySignature: verifyEd25519Strict,
    ...(trust.worldV4Key !== undefined && { v4Key: trust.worldV4Key }),
  });
}
