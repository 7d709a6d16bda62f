/** The three steps with which an organization begins: read from what it has done, never from a mark of their own. */

import { and, desc, eq, gt, sql } from "drizzle-orm";
import { actorOf, type KeyPrincipal, type MemberPrincipal } from "#lib/api/http/principal";
import type { Scope } from "#lib/api/schemas/key-choices";
import { rowsOf } from "#lib/db/client";
import { agents, apiKeys, attestations, authorizationRequests } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { listApprovers } from "#lib/services/accounts/approvers";
import { recordAudit } from "#lib/services/accounts/audit";
import { requireRole } from "#lib/services/accounts/members";
import type { Context } from "#lib/services/approvals/context";
import { approvalUrl } from "#lib/services/approvals/link";
import { requestAuthorization } from "#lib/services/approvals/request/request";
import { attest } from "#lib/services/attestations/attest";
import { isLiveKey } from "#lib/services/keys/api-keys";
import { findOwnKey } from "#lib/services/keys/key-principals";

export interface FirstSteps {
  hasKey: boolean;
  /** The first one's place; null before it. */
  attestation: { id: string; slug: string } | null;
  /** An approved request if there is one, else one that waits. */
  approval: { requestId: string; isApproved: boolean; approvalUrl: string } | null;
}

/** Next thing to do after them, the first that is left. */
export type NextStepName = "agent_key" | "approvers" | "domain";

/** Null if nothing is left. */
export async function findNextStep(context: Context, organizationId: string): Promise<NextStepName | null> {
  const { db } = context.database;
  const [found] = await rowsOf<Record<NextStepName, boolean>>(
    db,
    sql`SELECT
      EXISTS (SELECT FROM agents WHERE organization_id = ${organizationId} AND public_key IS NOT NULL) AS agent_key,
      EXISTS (SELECT FROM approvers WHERE organization_id = ${organizationId}) AS approvers,
      EXISTS (SELECT FROM organization_domains WHERE organization_id = ${organizationId}) AS domain`,
  );
  const order = ["agent_key", "approvers", "domain"] as const;
  return order.find((name) => found?.[name] !== true) ?? null;
}

/** The caller has seen that the person belongs to the organization. */
export async function readFirstSteps(context: Context, organizationId: string): Promise<FirstSteps> {
  const { db } = context.database;
  const keys = db
    .select({ id: apiKeys.id })
    .from(apiKeys)
    .where(and(eq(apiKeys.organization_id, organizationId), isLiveKey))
    .limit(1);
  const first = db
    .select({ id: attestations.id, slug: agents.slug })
    .from(attestations)
    .innerJoin(agents, eq(agents.id, attestations.agent_id))
    .where(eq(attestations.organization_id, organizationId))
    .orderBy(attestations.id)
    .limit(1);
  const { status, expires_at, created_at, organization_id, id } = authorizationRequests;
  const isOf = (wanted: "approved" | "pending") =>
    and(eq(organization_id, organizationId), eq(status, wanted));
  const approved = db.select({ id }).from(authorizationRequests).where(isOf("approved")).limit(1);
  const waiting = db
    .select({ id })
    .from(authorizationRequests)
    .where(and(isOf("pending"), gt(expires_at, sql`now()`)))
    .orderBy(desc(created_at))
    .limit(1);
  const [[key], [attestation], [given], [asked]] = await Promise.all([keys, first, approved, waiting]);
  const shown = given ?? asked;
  return {
    hasKey: key !== undefined || attestation !== undefined,
    attestation: attestation ?? null,
    approval: shown
      ? {
          requestId: shown.id,
          isApproved: given !== undefined,
          approvalUrl: approvalUrl(context, shown.id),
        }
      : null,
  };
}

/** The person acts as one of the organization's keys, which every member may make and use. */
async function actAsKey(context: Context, person: MemberPrincipal, scope: Scope): Promise<KeyPrincipal> {
  await requireRole(context.database.db, person, "member");
  const caller = await findOwnKey(context, person.organizationId, scope, person.ip ?? "");
  if (caller !== null) return { ...caller, person };
  throw new AppError("forbidden", `create a key with the permission “${scope}” first`);
}

const firstAgent = "my-first-agent";

/** The organization's first agent, or one whose name no other organization can have. */
export async function chooseSlug(context: Context, organizationId: string, name: string): Promise<string> {
  const [own] = await context.database.db
    .select({ slug: agents.slug })
    .from(agents)
    .where(eq(agents.organization_id, organizationId))
    .orderBy(agents.created_at)
    .limit(1);
  return own?.slug ?? `${name}-${hexEncode(context.random(4))}`;
}

export async function sendFirstAttestation(context: Context, person: MemberPrincipal): Promise<void> {
  const caller = await actAsKey(context, person, "attest");
  const { attestation } = await readFirstSteps(context, person.organizationId);
  if (attestation !== null) throw new AppError("forbidden", "your organization has attestations already");
  const action = "Sent a first attestation from the portal";
  const body = {
    agent_slug: await chooseSlug(context, person.organizationId, firstAgent),
    action,
    inputs_hash: `sha256:${hexEncode(sha256(utf8Encode(action)))}`,
  };
  const { attestation_id } = await attest(context, { caller, body, raw: body, hold: null });
  const { organizationId } = person;
  await recordAudit(context, context.database.db, {
    organizationId,
    actor: actorOf(person),
    action: "attestation.created",
    subject: attestation_id,
  });
}

/** Without World ID a group decides: the default one, or the first that has somebody with a passkey. */
async function chooseDeciders(context: Context, person: MemberPrincipal) {
  if (context.settings.worldId !== "none") return {};
  const { groups } = await listApprovers(context, person);
  const able = groups.filter(({ enrolled }) => enrolled > 0);
  const group = able.find(({ isDefault }) => isDefault) ?? able[0];
  if (group === undefined)
    throw new AppError(
      "forbidden",
      "add an approver with a passkey, and a group with them, under Approvers first",
    );
  return { required_approvers: [{ group: group.id, count: 1 }] };
}

export async function askForFirstApproval(context: Context, person: MemberPrincipal): Promise<void> {
  const principal = await actAsKey(context, person, "authorize");
  const { approval } = await readFirstSteps(context, person.organizationId);
  if (approval !== null) throw new AppError("forbidden", "your organization has a request already");
  const body = {
    agent_slug: await chooseSlug(context, person.organizationId, firstAgent),
    action: "Try out an approval",
    context: { what_happens: "Nothing. This is your first approval, requested from the portal." },
    ...(await chooseDeciders(context, person)),
  };
  await requestAuthorization(context, { principal, body, hold: null });
}
