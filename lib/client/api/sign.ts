/** The agent's own signature over a request (docs/wire.md, Attest). */

import { base64Decode, base64Encode } from "#lib/protocol/encoding/bytes";
import { canonicalBytes, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { decodePrivateKeyPem, SEED_BYTES, signWithSeed } from "#lib/protocol/keys/agent-seed";
import type { SignEd25519 } from "#lib/protocol/keys/ed25519";
import { signedRequest } from "#lib/protocol/statement/signed-request";
import type { AttestRequest } from "./wire";

/** PKCS #8 PEM, base64 of the 32-byte seed, the seed itself, or a function that signs, for keys that are kept elsewhere. */
export type AgentKey = string | Uint8Array | SignEd25519;

/** The request with `agent_signature`. Whatever is changed in it afterwards breaks the signature. */
export async function signAgentRequest(
  request: AttestRequest,
  key: AgentKey,
): Promise<AttestRequest & { agent_signature: string }> {
  const body = asSent(request);
  const signature = await readAgentKey(key)(canonicalBytes(signedRequest(body as object as JsonObject)));
  return { ...body, agent_signature: base64Encode(signature) };
}

/** A copy without what JSON leaves out. What becomes of the original meanwhile is not sent. */
export const asSent = <Body extends object>(body: Body): Body => JSON.parse(JSON.stringify(body)) as Body;

/** The key is secret, so no error shows any of it. */
export function readAgentKey(key: AgentKey): SignEd25519 {
  if (typeof key === "function") return key;
  const seed = typeof key === "string" ? readSeed(key) : key;
  if (seed === null || !ArrayBuffer.isView(seed) || seed.length !== SEED_BYTES)
    throw new TypeError("agent key: neither a PEM Ed25519 private key nor its 32 bytes or base64 of them");
  return (message) => signWithSeed(message, seed);
}

function readSeed(text: string): Uint8Array | null {
  try {
    return text.includes("-----") ? decodePrivateKeyPem(text) : base64Decode(text.trim());
  } catch {
    return null;
  }
}
