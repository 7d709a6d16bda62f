/**
 * The landing page's approval to try out (docs/decisions/0025): a visitor asks as the service's own demo agent, a human
 * decides as on any request, and the approval goes into a receipt. Its texts are fixed, and say TEST whatever World ID
 * the service uses. Nothing here decides anything.
 */

import type { KeyPrincipal } from "#lib/api/http/context";
import { enforceLimit } from "#lib/api/http/pipeline";
import type { AuthorizationState } from "#lib/api/schemas/authorization-state";
import { organizations } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { publicUrl } from "#lib/protocol/statement/product";
import type { Context } from "#lib/services/approvals/context";
import { readAuthorization } from "#lib/services/approvals/read";
import { requestAuthorization } from "#lib/services/approvals/request/request";
import {
  approvalUrl,
  authorizationNotFound,
  findAuthorization,
  readApprovalToken,
} from "#lib/services/approvals/rows";
import { attest } from "#lib/services/attestations/attest";
import { createApiKey } from "#lib/services/keys/api-keys";
import { findOwnKey } from "#lib/services/keys/authenticate";
import { chooseSlug } from "./overview";

/** No random or dated id is this one. The organization has no members, and its key is thrown away. */
export const demoOrganizationId = "00000000-0000-7000-8000-00000000de30";

const action = "TEST: Pay invoice 1042";
const minutes = 10;

export interface DemoState {
  authorization: AuthorizationState;
  approvalUrl: string;
  receiptUrl: string | null;
}

function requireDemo({ settings }: Context): void {
  if (!settings.isDemoOn) throw new AppError("not_found", "nothing exists here");
}

/**
 * Opens the demo, which is made when it is first needed. Two that come first at once make two keys, of which the newer is used.
 */
async function openDemo(context: Context, ip: string): Promise<KeyPrincipal> {
  const known = await findOwnKey(context, demoOrganizationId, "attest", ip);
  if (known !== null) return known;
  await context.database.db.transaction(async (tx) => {
    const row = { id: demoOrganizationId, name: "Countersign demo" };
    await tx.insert(organizations).values(row).onConflictDoNothing();
    await createApiKey(context, tx, {
      organizationId: demoOrganizationId,
      name: "demo",
      email: "",
      scopes: ["attest", "authorize"],
      expiresAt: null,
      actor: { kind: "system", id: "demo", ip: null },
    });
  });
  const made = await findOwnKey(context, demoOrganizationId, "attest", ip);
  if (made === null) throw new Error("the demo's key is gone");
  return made;
}

/** The path of the page that follows the request. */
export async function requestDemo(context: Context, ip: string): Promise<string> {
  requireDemo(context);
  const { LIMIT_DEMO_PER_IP_PER_HOUR: limit } = context.settings;
  await enforceLimit(context, { name: "demo", limit, windowSeconds: 3_600 }, ip);
  const principal = await openDemo(context, ip);
  const { approval_url } = await requestAuthorization(context, {
    principal,
    body: {
      agent_slug: await chooseSlug(context, demoOrganizationId, "demo-agent"),
      action,
      amount: { value: "100", currency: "EUR" },
      context: {
        recipient: "Example Ltd",
        note: "A demo. No money moves, whatever you decide.",
        // Make requests of visitors differ: a denial by one must not be found by the next.
        reference: hexEncode(context.random(4)),
      },
      expires_in_minutes: minutes,
    },
    hold: null,
  });
  return new URL(approval_url).pathname.replace("/approve/", "/demo/");
}

/** The demo's own requests only. Throws 404. */
async function requireOwnRequest(context: Context, token: string): Promise<string> {
  requireDemo(context);
  const requestId = readApprovalToken(context, token);
  const row = requestId === null ? null : await findAuthorization(context.database, requestId);
  if (row?.organization_id !== demoOrganizationId) throw authorizationNotFound();
  return row.id;
}

export async function readDemo(context: Context, token: string, ip: string): Promise<DemoState> {
  const requestId = await requireOwnRequest(context, token);
  const authorization = await readAuthorization(context, requestId, await openDemo(context, ip));
  const { attestation_id: id, agent_slug: slug } = authorization;
  return {
    authorization,
    approvalUrl: approvalUrl(context, requestId),
    receiptUrl: id ? publicUrl(context.settings.baseUrl, slug, id) : null,
  };
}

/** Acts as an agent does with its approval: it attests, once. Done already: nothing. */
export async function attestDemo(context: Context, token: string, ip: string): Promise<void> {
  const { authorization, receiptUrl } = await readDemo(context, token, ip);
  const { agent_slug, human_authorization } = authorization;
  if (receiptUrl !== null || human_authorization === undefined) return;
  const caller = await openDemo(context, ip);
  const inputs_hash = `sha256:${hexEncode(sha256(utf8Encode(action)))}`;
  const body = { agent_slug, action, inputs_hash, is_public: true, human_authorization };
  await attest(context, { caller, body, raw: body, hold: null }).catch((error: unknown) => {
    const isDone = error instanceof AppError && error.errorName === "authorization_already_used";
    if (!isDone) throw error;
  });
}
