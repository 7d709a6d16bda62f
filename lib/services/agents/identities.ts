/** Agents' registered identities (docs/wire.md, Agents), and their stop. A change applies to later attestations only. */

import { and, count, desc, eq, isNotNull, isNull, lt, ne } from "drizzle-orm";
import type { z } from "zod";
import { type MemberPrincipal, type Principal, toActor } from "#lib/api/http/context";
import { cutPage, type PageQuery } from "#lib/api/http/opaque-text";
import type { Handlers, Params } from "#lib/api/http/pipeline";
import type { agentsOperations as specs } from "#lib/api/operations/agents";
import type {
  IdentityResponse,
  putToolsBody,
  registerBody,
  updateIdentityBody,
} from "#lib/api/schemas/identity";
import type { Executor } from "#lib/db/client";
import { agentChanges, agentKeys, agents, attestations, toolManifests } from "#lib/db/schema";
import { AppError, fieldError } from "#lib/errors";
import {
  base64Decode,
  base64Encode,
  bytesEqual,
  hexEncode,
  sha256,
  utf8Encode,
} from "#lib/protocol/encoding/bytes";
import {
  encodePublicKeyPem,
  parsePublicKey,
  possessionText,
  verifyEd25519Strict,
} from "#lib/protocol/keys/ed25519";
import { buildToolManifest, toolsOfManifest } from "#lib/protocol/statement/identity-checks";
import { parseCanonical } from "#lib/protocol/statement/statement";
import { recordAct } from "#lib/services/accounts/audit";
import type { AccountsContext } from "#lib/services/accounts/context";
import { type Act, requireRole } from "#lib/services/accounts/members";
import { lockAndRecheckKey } from "#lib/services/keys/authenticate";
import {
  changeAgent,
  listAgentKeys,
  type NewestKeys,
  readNewestKeys,
  replaceKey,
  Unchanged,
} from "./agent-changes";
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

async function readIdentity(executor: Executor, slug: string): Promise<IdentityResponse> {
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
async function registerIdentity(
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
  await recordAct(context, tx, principal, { action, subject });
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

async function updateIdentity(
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

async function putTools(
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

interface FreezeContext extends AccountsContext {
  agents: { delete(name: string): unknown };
}

/**
 * The stop button. From the commit on, a frozen agent's requests are denied, and its approvals can be neither given, claimed
 * nor used. What it does all the same can still be attested, with a warning in the signed bytes.
 */
async function setFrozen(tx: Executor, agentId: string, at: Date | null): Promise<AppError | null> {
  const { id, frozen_at } = agents;
  const isOther = at === null ? isNotNull(frozen_at) : isNull(frozen_at);
  const changed = await tx
    .update(agents)
    .set({ frozen_at: at })
    .where(and(eq(id, agentId), isOther))
    .returning({ id });
  return changed.length === 1 ? null : new Unchanged();
}

/** An approver may stop an agent, and not let it go on; a passkey is asked for either. */
async function holdFreezer(tx: Executor, principal: Principal, isFrozen: boolean): Promise<void> {
  if (!isFrozen) await lockAndRecheckKey(tx, principal, "operate");
  await lockAndRecheckKey(tx, principal, "freeze");
}

/** Freezing a frozen agent changes nothing, and neither does its new reason. */
async function changeFreeze(
  context: FreezeContext,
  principal: Principal,
  slug: string,
  isFrozen: boolean,
  reason: string | null,
): Promise<IdentityResponse> {
  const { db } = context.database;
  const agent = await findAgent(db, slug);
  if (agent?.organization_id !== principal.organizationId) throw agentNotFound();
  if ((agent.frozen_at !== null) !== isFrozen) {
    await changeAgent(context, {
      change: isFrozen ? "frozen" : "unfrozen",
      agentId: agent.id,
      organizationId: agent.organization_id,
      actor: toActor(principal),
      lockAndRecheckKey: (tx) => holdFreezer(tx, principal, isFrozen),
      reason,
      request: null,
      apply: (tx, at) => setFrozen(tx, agent.id, isFrozen ? at : null),
      subject: agent.slug,
      event: isFrozen ? "agent.frozen" : "agent.unfrozen",
      announced: (changedAt) => ({ agent_slug: agent.slug, frozen_at: isFrozen ? changedAt : null }),
      callbackUrl: null,
    });
    context.agents.delete(slugKey(slug));
  }
  return readIdentity(db, slug);
}

export const agentFrozen = () =>
  new AppError("agent_frozen", "the organization has frozen this agent; stop, and report to your operator");

const readSlug = (params: Params) => params["slug"] ?? "";

export const agentsHandlers: Handlers<Omit<typeof specs, "agentFeed" | "agentRecord">, FreezeContext> = {
  registerIdentity: async (call) => {
    const { isNew, identity } = await registerIdentity(call.context, call.principal, call.body);
    return { status: isNew ? 201 : 200, body: identity };
  },
  readIdentity: async ({ context, params }) => ({
    body: await readIdentity(context.database.db, readSlug(params)),
  }),
  listAgentKeys: async ({ context, params, query }) => ({
    body: await listAgentKeys(context.database.db, readSlug(params), query),
  }),
  updateIdentity: async (call) => ({
    body: await updateIdentity(call.context, call.principal, readSlug(call.params), call.body),
  }),
  putTools: async (call) => ({
    body: await putTools(call.context, call.principal, readSlug(call.params), call.body),
  }),
  freezeAgent: async (call) => ({
    body: await changeFreeze(call.context, call.principal, readSlug(call.params), true, call.body.reason),
  }),
  unfreezeAgent: async (call) => ({
    body: await changeFreeze(
      call.context,
      call.principal,
      readSlug(call.params),
      false,
      call.body.reason ?? null,
    ),
  }),
};

/* An organization's own agents, as the portal lists and changes them. */

export async function listOwnAgents(context: AccountsContext, person: MemberPrincipal, page: PageQuery) {
  const { db } = context.database;
  await requireRole(db, person, "read");
  const rows = await db
    .select({ slug: agents.slug, id: agents.id })
    .from(agents)
    .where(
      and(
        eq(agents.organization_id, person.organizationId),
        page.cursor === undefined ? undefined : lt(agents.id, page.cursor),
      ),
    )
    .orderBy(desc(agents.id))
    .limit(page.limit + 1);
  const { shown, nextCursor } = cutPage(rows, page, ({ id }) => id);
  const described = await Promise.all(shown.map(({ slug }) => describeOwnAgent(context, slug)));
  return {
    rows: described.filter((row) => row !== null),
    nextCursor,
  };
}

async function describeOwnAgent(context: AccountsContext, slug: string) {
  const { db } = context.database;
  const agent = await findAgent(db, slug);
  if (agent === null) return null;
  const [total] = await db
    .select({ count: count() })
    .from(attestations)
    .where(eq(attestations.agent_id, agent.id));
  return {
    slug: agent.slug,
    name: agent.name,
    isTest: agent.is_test,
    keyStatus: describeKeyStatus(agent),
    frozenAt: agent.frozen_at?.toISOString() ?? null,
    hasCodeHash: agent.code_hash !== null,
    tools: agent.manifest === null ? null : (toolsOfManifest(agent.manifest)?.length ?? null),
    attestations: total?.count ?? 0,
    createdAt: agent.created_at.toISOString(),
  };
}

/** Throws 404 for another organization's agent too. */
export async function requireOwnAgent(
  context: AccountsContext,
  person: MemberPrincipal,
  slug: string,
  act: Act = "read",
): Promise<FoundAgent> {
  await requireRole(context.database.db, person, act);
  const agent = await findAgent(context.database.db, slug);
  if (agent?.organization_id !== person.organizationId) throw agentNotFound();
  return agent;
}

export async function readOwnAgent(context: AccountsContext, person: MemberPrincipal, slug: string) {
  const { id, is_test: isTest } = await requireOwnAgent(context, person, slug);
  const { db } = context.database;
  return { ...(await readIdentity(db, slug)), isTest, stops: await readStops(db, id) };
}

const stopsShown = 10;

/** Reads when it was frozen and unfrozen, newest first, with the organization's own reasons. */
async function readStops(executor: Executor, agentId: string) {
  const { change, changed_at, reason, leaf_index } = agentChanges;
  const rows = await executor
    .select({ change, changed_at, reason })
    .from(agentChanges)
    .where(and(eq(agentChanges.agent_id, agentId), ne(change, "authorization_revoked")))
    .orderBy(desc(changed_at), desc(leaf_index))
    .limit(stopsShown);
  return rows.map((row) => ({
    isFrozen: row.change === "frozen",
    at: row.changed_at.toISOString(),
    reason: row.reason,
  }));
}

export async function freezeOwnAgent(
  context: FreezeContext,
  person: MemberPrincipal,
  slug: string,
  reason: string,
): Promise<void> {
  await requireOwnAgent(context, person, slug, "freeze");
  await changeFreeze(context, person, slug, true, reason);
}

export async function unfreezeOwnAgent(
  context: FreezeContext,
  person: MemberPrincipal,
  slug: string,
  reason: string | null,
): Promise<void> {
  await requireOwnAgent(context, person, slug, "operate");
  await changeFreeze(context, person, slug, false, reason);
}

export async function registerOwnAgent(
  context: AccountsContext,
  person: MemberPrincipal,
  body: z.output<typeof registerBody>,
): Promise<string> {
  await requireRole(context.database.db, person, "operate");
  return (await registerIdentity(context, person, body)).identity.slug;
}

export async function updateOwnAgent(
  context: AccountsContext,
  person: MemberPrincipal,
  slug: string,
  profile: z.output<typeof updateIdentityBody>,
): Promise<void> {
  await requireOwnAgent(context, person, slug, "operate");
  await updateIdentity(context, person, slug, profile);
}

/** Descriptions stay with the tools that stay. */
export async function putOwnTools(
  context: AccountsContext,
  person: MemberPrincipal,
  slug: string,
  tools: string[],
): Promise<string> {
  const { tool_descriptions: kept } = await readOwnAgent(context, person, slug);
  const descriptions = Object.fromEntries(
    Object.entries(kept ?? {}).filter(([tool]) => tools.includes(tool)),
  );
  const body = { tools, ...(Object.keys(descriptions).length > 0 && { tool_descriptions: descriptions }) };
  return (await putTools(context, person, slug, body)).tool_manifest_hash;
}
