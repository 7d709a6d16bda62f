/**
 * The keys of an endpoint: a secret for `v1` and a seed for `v1a`, of its own, never the service's. They sign, so a hash
 * of them would not do: they are stored sealed under a key derived from AUTH_SECRET, bound to their endpoint.
 */
import { createCipheriv, createDecipheriv } from "node:crypto";
import { AppError } from "#lib/errors";
import { derivePublicKey } from "#lib/protocol/keys/ed25519-sign";
import {
  signWithSecret,
  signWithSeed,
  type WebhookMessage,
  writePublicKey,
  writeSecret,
} from "#lib/protocol/webhook/webhook";
import type { Context } from "#lib/services/approvals/context";

export interface EndpointKeys {
  /** 32 bytes. */
  secret: Uint8Array;
  /** The private key of RFC 8032, 32 bytes. */
  seed: Uint8Array;
}

const algorithm = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;
const keyBytes = 32;

type Sealing = Pick<Context, "secrets" | "random">;

export function makeKeys({ random }: Pick<Context, "random">): EndpointKeys {
  return { secret: random(keyBytes), seed: random(keyBytes) };
}

/** nonce ‖ ciphertext ‖ tag */
export function sealKeys({ secrets, random }: Sealing, endpointId: string, keys: EndpointKeys): Uint8Array {
  const nonce = random(nonceBytes);
  const cipher = createCipheriv(algorithm, secrets.webhookKeys, nonce).setAAD(Buffer.from(endpointId));
  return new Uint8Array(
    Buffer.concat([
      nonce,
      cipher.update(keys.secret),
      cipher.update(keys.seed),
      cipher.final(),
      cipher.getAuthTag(),
    ]),
  );
}

/** AUTH_SECRET is another one than they were sealed under. */
export class UnreadableKeys extends AppError {
  constructor(cause: unknown) {
    super("server_error", "the keys of a webhook endpoint cannot be read", { cause });
  }
}

/** Throws {@link UnreadableKeys}. */
export function openKeys(
  { secrets }: Pick<Context, "secrets">,
  endpointId: string,
  sealed: Uint8Array,
): EndpointKeys {
  const nonce = sealed.subarray(0, nonceBytes);
  const decipher = createDecipheriv(algorithm, secrets.webhookKeys, nonce).setAAD(Buffer.from(endpointId));
  decipher.setAuthTag(sealed.subarray(-tagBytes));
  try {
    const opened = Buffer.concat([decipher.update(sealed.subarray(nonceBytes, -tagBytes)), decipher.final()]);
    return {
      secret: new Uint8Array(opened.subarray(0, keyBytes)),
      seed: new Uint8Array(opened.subarray(keyBytes)),
    };
  } catch (cause) {
    throw new UnreadableKeys(cause);
  }
}

export const secretOf = ({ secret }: EndpointKeys): string => writeSecret(secret);
export const publicKeyOf = ({ seed }: EndpointKeys): string => writePublicKey(derivePublicKey(seed));

/** The list of the header `webhook-signature`: both signatures of each pair of keys. */
export function signMessage(message: WebhookMessage, all: readonly EndpointKeys[]): string {
  return all
    .flatMap(({ secret, seed }) => [signWithSecret(message, secret), signWithSeed(message, seed)])
    .join(" ");
}
