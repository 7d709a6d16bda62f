/**
 * The three verdicts (docs/wire.md, Attest) as pure functions of the request and the registration. The service
 * computes them, and every verifier computes them again from the signed bytes.
 */

import { base64Decode, hexEncode, sha256 } from "#lib/protocol/encoding/bytes";
import { canonicalBytes, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import type { VerifyEd25519 } from "#lib/protocol/keys/ed25519";
import { parseCanonical, type RegisteredIdentity, type Verdict, type Verdicts } from "./statement";

function decode(text: string, length: number): Uint8Array | null {
  try {
    const bytes = base64Decode(text);
    return bytes.length === length ? bytes : null;
  } catch {
    return null;
  }
}

export function checkAgentSignature(
  request: JsonObject,
  agentSignature: string | undefined,
  agentPublicKey: string | null,
  verify: VerifyEd25519,
): Verdict {
  if (agentSignature === undefined || agentPublicKey === null) return null;
  const signature = decode(agentSignature, 64);
  const publicKey = decode(agentPublicKey, 32);
  return signature !== null && publicKey !== null && verify(signature, canonicalBytes(request), publicKey);
}

export function checkCodeHash(request: JsonObject, registered: string | null): Verdict {
  const claimed = request["code_hash"];
  return typeof claimed === "string" && registered !== null ? claimed === registered : null;
}

/** The canonical bytes of a tool manifest; `tool_manifest_hash` is their hex SHA-256. */
export function buildToolManifest(tools: string[], descriptions: Record<string, string> | null): Uint8Array {
  return canonicalBytes(descriptions === null ? { tools } : { tools, tool_descriptions: descriptions });
}

export function toolsOfManifest(manifest: Uint8Array): string[] | null {
  const tools = parseCanonical(manifest)?.["tools"];
  return Array.isArray(tools) && tools.every((tool) => typeof tool === "string") ? tools : null;
}

function readManifest(manifestHash: string, manifest: Uint8Array | null): string[] | null {
  if (manifest === null || hexEncode(sha256(manifest)) !== manifestHash) return null;
  return toolsOfManifest(manifest);
}

/** `manifest`: the bytes kept under the registered hash; a manifest that does not have that hash gives false. */
export function checkTools(
  request: JsonObject,
  manifestHash: string | null,
  manifest: Uint8Array | null,
): Verdict {
  const used = request["tools_used"];
  if (!Array.isArray(used) || manifestHash === null) return null;
  const allowed = readManifest(manifestHash, manifest);
  return allowed !== null && used.every((tool) => typeof tool === "string" && allowed.includes(tool));
}

/** Unregistered tools by name, each once, in the order of their use; empty if the registered manifest is not at hand. */
export function listUnregisteredTools(
  request: JsonObject,
  manifestHash: string | null,
  manifest: Uint8Array | null,
): string[] {
  const used = request["tools_used"];
  if (!Array.isArray(used) || manifestHash === null) return [];
  const allowed = readManifest(manifestHash, manifest);
  if (allowed === null) return [];
  const names = used.filter((tool) => typeof tool === "string");
  return [...new Set(names)].filter((tool) => !allowed.includes(tool));
}

export function deriveIdentityChecks(
  request: JsonObject,
  agentSignature: string | undefined,
  registered: RegisteredIdentity,
  manifest: Uint8Array | null,
  verify: VerifyEd25519,
): Verdicts {
  return {
    agent_authenticated: checkAgentSignature(request, agentSignature, registered.agent_public_key, verify),
    code_hash_verified: checkCodeHash(request, registered.code_hash),
    tools_authorized: checkTools(request, registered.tool_manifest_hash, manifest),
  };
}
