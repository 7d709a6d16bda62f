/** The agent's own signature over a request (docs/wire.md, Attest). */

import { base64Decode, base64Encode } from "#lib/core/encoding/bytes";
import { canonicalBytes, type JsonObject } from "#lib/core/encoding/canonical-json";
import { decodePrivateKeyPem } from "#lib/core/keys/agent-key";
import type { SignEd25519 } from "#lib/core/keys/ed25519";
import { signEd25519 } from "#lib/core/keys/ed25519-sign";
import { signedRequest } from "#lib/core/statement/signed-request";
import type { AttestRequest } from "./wire";

/** PKCS #8 PEM, base64 of the 32-byte seed, the seed itself, or a function that signs, for keys that are kept elsewhere. */
export type AgentKey = string | Uint8Array | SignEd25519;

/** The request with `agent_signature`. Whatever is changed in it afterwards breaks the signature. */
export async function signAgentRequest(
  request: AttestRequest,
  key: AgentKey,
): Promise<AttestRequest & { agent_signature: string }> {
  // As it will be sent: what is undefined is left out.
  const body = JSON.parse(JSON.stringify(request)) as JsonObject;
  const signature = await signWith(key)(canonicalBytes(signedRequest(body)));
  return { ...request, agent_signature: base64Encode(signature) };
}

function signWith(key: AgentKey): SignEd25519 {
  if (typeof key === "function") return key;
  const seed = typeof key === "string" ? readSeed(key) : key;
  return (message) => signEd25519(message, seed);
}

/** The text is secret, so no error shows any of it. */
function readSeed(text: string): Uint8Array {
  try {
    return text.includes("-----") ? decodePrivateKeyPem(text) : base64Decode(text.trim());
  } catch {
    throw new TypeError("agent key: neither a PEM Ed25519 private key nor base64 of its 32 bytes");
  }
}
