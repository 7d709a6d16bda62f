/**
 * The presentation header: whom a proof was made for. It is inside the proof, so it can't be changed.
 *
 *   {"attestation_id":"…","aud":"public"}              the public proof, replayable by design
 *   {"aud":"…","exp":1795237200,"iat":1795233600,"nonce":"…"}   made for one verifier, Unix seconds
 */
import { utf8Decode } from "#lib/protocol/encoding/bytes";
import {
  canonicalBytes,
  canonicalJson,
  isJsonObject,
  type JsonValue,
} from "#lib/protocol/encoding/canonical-json";

export const MAX_AUDIENCE_LENGTH = 512;
export const MAX_NONCE_LENGTH = 256;
export const PUBLIC_AUDIENCE = "public";

export interface PublicHeader {
  kind: "public";
  attestationId: string;
}
export interface AudienceHeader {
  kind: "audience";
  audience: string;
  nonce: string;
  issuedAtSeconds: number;
  expiresAtSeconds: number;
}
export type PresentationHeader = PublicHeader | AudienceHeader;

/** Throws RangeError if the parts would not be accepted by a verifier. */
export function encodePresentationHeader(header: PresentationHeader): Uint8Array {
  const value: JsonValue =
    header.kind === "public"
      ? { aud: PUBLIC_AUDIENCE, attestation_id: header.attestationId }
      : {
          aud: header.audience,
          nonce: header.nonce,
          iat: header.issuedAtSeconds,
          exp: header.expiresAtSeconds,
        };
  const bytes = canonicalBytes(value);
  if (decodePresentationHeader(bytes) === null) throw new RangeError("not a presentation header");
  return bytes;
}

/** Null if the bytes are not exactly one of the two headers in canonical form. */
export function decodePresentationHeader(bytes: Uint8Array): PresentationHeader | null {
  let value: JsonValue;
  try {
    const text = utf8Decode(bytes);
    value = JSON.parse(text) as JsonValue;
    if (canonicalJson(value) !== text) return null;
  } catch {
    return null;
  }
  if (!isJsonObject(value)) return null;
  const { aud, attestation_id: attestationId, nonce, iat, exp } = value;
  const names = Object.keys(value).sort().join();
  if (names === "attestation_id,aud") {
    return aud === PUBLIC_AUDIENCE && isText(attestationId, 64) ? { kind: "public", attestationId } : null;
  }
  if (names !== "aud,exp,iat,nonce" || aud === PUBLIC_AUDIENCE) return null;
  if (!isText(aud, MAX_AUDIENCE_LENGTH) || !isText(nonce, MAX_NONCE_LENGTH)) return null;
  if (!isUnixSeconds(iat) || !isUnixSeconds(exp) || exp <= iat) return null;
  return { kind: "audience", audience: aud, nonce, issuedAtSeconds: iat, expiresAtSeconds: exp };
}

/** In Unicode code points, as the API counts. */
function isText(value: JsonValue | undefined, maxLength: number): value is string {
  return typeof value === "string" && value !== "" && [...value].length <= maxLength;
}

function isUnixSeconds(value: JsonValue | undefined): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
