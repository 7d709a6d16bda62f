/** What is refused before a human is asked, because it couldn't be attested. */
import { canonicalBytes, depthOf, type JsonObject } from "#lib/core/encoding/canonical-json";
import { type AgentKey, asSent, readAgentKey } from "./sign";
import type { AttestRequest } from "./wire";
import type { AuthorizeRequest } from "./wire-authorization";

const askedNames: Record<Exclude<keyof AuthorizeRequest, "context" | "inputs_hash">, true> = {
  agent_slug: true,
  action: true,
  tool: true,
  amount: true,
  grant: true,
  expires_in_minutes: true,
  required_level: true,
  required_approvers: true,
  usable_for_seconds: true,
  approvals_required: true,
  require_code: true,
  approvers: true,
  callback_url: true,
  requester: true,
};

const extraNames = [
  "metadata",
  "is_public",
  "enable_zk",
  "code_hash",
  "model_id",
  "tools_used",
  "client",
] as const;

export type AttestationExtras = Pick<AttestRequest, (typeof extraNames)[number]>;

/** Of the service (docs/wire.md, Attest), without what the gate adds. */
const maxMetadataBytes = 8_192 - 128;
const maxMetadataDepth = 16;

/** `asked`: what goes to the service, which must not see an agent's key under a misspelled name. */
export function requireAttestable(
  asked: object,
  attestation: AttestationExtras = {},
  agentKey?: AgentKey | undefined,
): void {
  for (const name of Object.keys(asked))
    if (!Object.hasOwn(askedNames, name)) throw new TypeError(`the gate has no option ${name}`);
  for (const name of Object.keys(attestation))
    if (!extraNames.some((known) => known === name)) throw new TypeError(`attestation: it can't say ${name}`);
  const { metadata, ...more } = asSent(attestation);
  canonicalBytes(more as JsonObject);
  if (canonicalBytes(metadata ?? {}).length > maxMetadataBytes || depthOf(metadata) > maxMetadataDepth)
    throw new TypeError(
      `attestation: metadata must be at most ${maxMetadataBytes} bytes and ${maxMetadataDepth} levels`,
    );
  if (agentKey !== undefined) readAgentKey(agentKey);
}

/** Without them two calls could share one approval. */
export function requireIds(ids: { runId: string; callId: string }): void {
  for (const [name, id] of Object.entries<string | undefined>(ids))
    if (id === undefined) throw new TypeError(`${name} is missing`);
}
