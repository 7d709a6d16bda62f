/**
 * Signatures of Standard Webhooks (github.com/standard-webhooks, spec/standard-webhooks.md): over
 * `<webhook-id>.<webhook-timestamp>.<body>`, as a list whose members are separated by spaces:
 *
 *     webhook-signature: v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4= v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==
 */
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { base64Decode, base64Encode, bytesEqual, utf8Encode } from "#lib/protocol/encoding/bytes";
import { signEd25519 } from "#lib/protocol/keys/ed25519";

export interface WebhookMessage {
  id: string;
  timestamp: number;
  body: string;
}

/** A receiver refuses what is older or newer than this. */
const webhookToleranceSeconds = 300;

const secretPrefix = "whsec_";
export const writeSecret = (secret: Uint8Array): string => `${secretPrefix}${base64Encode(secret)}`;
export const writePublicKey = (publicKey: Uint8Array): string => `whpk_${base64Encode(publicKey)}`;

const signedBytes = ({ id, timestamp, body }: WebhookMessage) => utf8Encode(`${id}.${timestamp}.${body}`);

/** `v1`: HMAC-SHA256 under the secret's bytes. */
export function signWithSecret(message: WebhookMessage, secret: Uint8Array): string {
  return `v1,${base64Encode(hmac(sha256, secret, signedBytes(message)))}`;
}

/** `v1a`: Ed25519. */
export function signWithSeed(message: WebhookMessage, seed: Uint8Array): string {
  return `v1a,${base64Encode(signEd25519(signedBytes(message), seed))}`;
}

/** Requires a `v1` signature of the secret's in the list, and a timestamp close to now. `secret`: `whsec_…` */
export function verifyWithSecret(
  message: WebhookMessage,
  signatures: string,
  secret: string,
  nowSeconds: number,
): boolean {
  if (Math.abs(nowSeconds - message.timestamp) > webhookToleranceSeconds) return false;
  const key = base64Decode(secret.slice(secretPrefix.length));
  // Compared by hash, so that timing says nothing about the signature.
  const digest = (text: string) => sha256(utf8Encode(text));
  const expected = digest(signWithSecret(message, key));
  return signatures.split(" ").some((given) => bytesEqual(digest(given), expected));
}

export const webhookEvents = [
  "authorization.requested",
  "authorization.approved",
  "authorization.denied",
  "authorization.expired",
  "authorization.cancelled",
  "authorization.question",
  "authorization.unattested",
  "authorization.revoked",
  "agent.frozen",
  "agent.unfrozen",
  "attestation.created",
  "roster.changed",
] as const;
export type WebhookEvent = (typeof webhookEvents)[number];

/** `standard`: signed, ids and states. The others are messages for people in a chat. */
export const webhookFormats = ["standard", "slack", "teams"] as const;
export type WebhookFormat = (typeof webhookFormats)[number];
