/** Agents' registered identities (docs/wire.md, Agents). A change applies to later attestations only. */

import { and, eq, isNull } from "drizzle-orm";
import type { z } from "zod";
import { type Principal, toActor } from "#lib/api/http/context";
import type {
  IdentityResponse,
  putToolsBody,
  registerBody,
  updateIdentityBody,
} from "#lib/api/schemas/identity";
import type { Executor } from "#lib/db/client";
import { agentKeys, agents, toolManifests } from "#lib/db/schema";
import { fieldError } from "#lib/errors";
import {
  base64Decode,
  base64Encode,
  bytesEqual,
  hexEncode,
  sha256,
  utf8Encode,
} from "#lib/protocol/encoding/bytes";
import { possessionText } from "#lib/protocol/keys/agent-key";
import { encodePublicKeyPem, parsePublicKey, verifyEd25519Strict } from "#lib/protocol/keys/ed25519";
import { buildToolManifest, toolsOfManifest } from "#lib/protocol/statement/identity-checks";
import { parseCanonical } from "#lib/protocol/statement/statement";
import { recordAudit } from "#lib/services/accounts/audit";
import type { AccountsContext } from "#lib/services/accounts/context";
import { lockAndRecheckKey } from "#lib/services/keys/authenticate";
import { type NewestKeys, readNewestKeys, replaceKey } from "./agent-changes";
import {
  agentNotFound,
  claimAgents,
  describeKeyStatus,
  type FoundAgent,
  findAgent,
  isSlug,
  slugKey,
  slugTaken,
} from "./agents";

type Profile = z.infer<typeof updateIdentityBody>;
type Registration = z.infer<typeof registerBody>;

/** Undefined if no key is given, null if it is to be cleared; an unfit key is a 422. */
function givenPublicKey(profile: Profile): Uint8Array | null | undefined {
  const given = [
    ["public_key_pem", profile.public_key_pem],
    ["public_key", profile.public_key],
  ] as const;
  if (given.every(([, text]) => text === undefined)) return undefined;
  const keys = given.flatMap(([field, text]) => {
    if (typeof text !== "string") return [];
    const parsed = parsePublicKey(text);
    if (!parsed.ok) throw fieldError("validation_error", field, parsed.problem);
    return [parsed.publicKey];
  });
  const [first, second] = keys;
  if (first && second && !bytesEqual(first, second)) {
    throw fieldError("validation_error", "public_key", "is another key than public_key_pem");
  }
  return first ?? null;
}

function checkPossession(profile: Profile, slug: string, publicKey: Uint8Array | null): boolean {
  const proof = profile.proof_of_possession ?? null;
  if (proof === null) return false;
  const isProven =
    publicKey !== null &&
    verifyEd25519Strict(base64Decode(proof), utf8Encode(possessionText(slug, publicKey)), publicKey);
  if (!isProven)
    throw fieldError("validation_error", "proof_of_possession", "does not verify under the public key");
  return true;
}

async function applyProfile(
  context: AccountsContext,
  tx: Executor,
  agent: typeof agents.$inferSelect,
  profile: Profile,
): Promise<void> {
  const now = context.clock();
  const given = givenPublicKey(profile);
  const publicKey = given === undefined ? agent.public_key : given;
  const isProven = checkPossession(profile, agent.slug, publicKey);
  const isSameKey =
    publicKey !== null && agent.public_key !== null && bytesEqual(publicKey, agent.public_key);
  if (given !== undefined && !isSameKey) await replaceKey(context, tx, agent.id, publicKey, isProven);
  else if (isProven) {
    const unproven = and(
      eq(agentKeys.agent_id, agent.id),
      isNull(agentKeys.retired_at),
      isNull(agentKeys.proven_at),
    );
    await tx.update(agentKeys).set({ proven_at: now }).where(unproven);
  }
  const changed = Object.fromEntries(
    (["name", "description", "code_hash", "model_id"] as const)
      .filter((field) => profile[field] !== undefined)
      .map((field) => [field, profile[field]]),
  );
  await tx
    .update(agents)
    .set({ ...changed, public_key: publicKey, updated_at: now })
    .where(eq(agents.id, agent.id));
}

async function storeTools(
  tx: Executor,
  context: AccountsContext,
  agentId: string,
  tools: string[],
  descriptions: Record<string, string> | null,
): Promise<string> {
  const manifest = buildToolManifest(tools, descriptions);
  const hash = hexEncode(sha256(manifest));
  await tx.insert(toolManifests).values({ hash, manifest }).onConflictDoNothing();
  await tx
    .update(agents)
    .set({ tool_manifest_hash: hash, updated_at: context.clock() })
    .where(eq(agents.id, agentId));
  return hash;
}

export async function readIdentity(executor: Executor, slug: string): Promise<IdentityResponse> {
  const agent = await findAgent(executor, slug);
  if (agent === null) throw agentNotFound();
  return describeIdentity(agent, await readNewestKeys(executor, agent.id));
}

export function describeIdentity(agent: FoundAgent, newestKeys: NewestKeys): IdentityResponse {
  const descriptions = agent.manifest ? parseCanonical(agent.manifest)?.["tool_descriptions"] : undefined;
  return {
    slug: agent.slug,
    name: agent.name,
    description: agent.description,
    public_key: agent.public_key ? base64Encode(agent.public_key) : null,
    public_key_pem: agent.public_key ? encodePublicKeyPem(agent.public_key) : null,
    key_status: describeKeyStatus(agent),
    ...newestKeys,
    code_hash: agent.code_hash,
    model_id: agent.model_id,
    tool_manifest_hash: agent.tool_manifest_hash,
    tools: agent.manifest ? toolsOfManifest(agent.manifest) : null,
    tool_descriptions: (descriptions as Record<string, string> | undefined) ?? null,
    frozen_at: agent.frozen_at?.toISOString() ?? null,
    created_at: agent.created_at.toISOString(),
    updated_at: agent.updated_at.toISOString(),
  };
}

/** Claims the slug, or updates the caller's agent. Null means absent here, and clears nothing. `isNew`: it was unclaimed. */
export async function registerIdentity(
  context: AccountsContext,
  principal: Principal,
  body: Registration,
): Promise<{ isNew: boolean; identity: IdentityResponse }> {
  const { slug, tools, ...given } = body;
  const profile: Profile = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
  return context.database.db.transaction(async (tx) => {
    await lockAndRecheckKey(tx, principal, "operate");
    const before = await findAgent(tx, slug);
    const isTest = principal.kind === "key" ? principal.isTest : context.settings.worldId === "local";
    const { organizationId } = principal;
    const [claimed] = await claimAgents(context, tx, [{ slug, organizationId, isTest }]);
    if (!claimed) throw slugTaken("slug");
    const agent = await requireOwn(tx, principal, slug);
    await applyProfile(context, tx, agent, profile);
    if (tools) await storeTools(tx, context, agent.id, tools, null);
    await audit(context, tx, principal, "agent.registered", agent.slug);
    return { isNew: before === null, identity: await readIdentity(tx, slug) };
  });
}

async function audit(
  context: AccountsContext,
  tx: Executor,
  principal: Principal,
  action: string,
  subject: string,
): Promise<void> {
  const { organizationId } = principal;
  await recordAudit(context, tx, { organizationId, actor: toActor(principal), action, subject });
}

/** A slug of another organization answers as an unknown one. The row is locked, so that key changes queue up. */
async function requireOwn(tx: Executor, principal: Principal, slug: string) {
  if (!isSlug(slug)) throw agentNotFound();
  const [agent] = await tx
    .select()
    .from(agents)
    .where(and(eq(agents.slug_key, slugKey(slug)), eq(agents.organization_id, principal.organizationId)))
    .for("update");
  if (!agent) throw agentNotFound();
  return agent;
}

export async function updateIdentity(
  context: AccountsContext,
  principal: Principal,
  slug: string,
  profile: Profile,
): Promise<IdentityResponse> {
  return context.database.db.transaction(async (tx) => {
    await lockAndRecheckKey(tx, principal, "operate");
    const agent = await requireOwn(tx, principal, slug);
    await applyProfile(context, tx, agent, profile);
    await audit(context, tx, principal, "agent.updated", agent.slug);
    return readIdentity(tx, slug);
  });
}

export async function putTools(
  context: AccountsContext,
  principal: Principal,
  slug: string,
  body: z.infer<typeof putToolsBody>,
) {
  return context.database.db.transaction(async (tx) => {
    await lockAndRecheckKey(tx, principal, "operate");
    const agent = await requireOwn(tx, principal, slug);
    const hash = await storeTools(tx, context, agent.id, body.tools, body.tool_descriptions ?? null);
    await audit(context, tx, principal, "agent.tools_changed", agent.slug);
    return { agent_slug: agent.slug, tool_manifest_hash: hash, tools: body.tools };
  });
}
