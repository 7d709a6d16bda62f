/** Guarantee: whatever belongs to another organization is, in the portal, the same as what does not exist. */

import { beforeAll, describe, expect, it } from "vitest";
import type { MemberPrincipal } from "#lib/api/http/context";
import { scopeNames } from "#lib/api/schemas/key-choices";
import { AppError } from "#lib/errors";
import { listAuditEvents } from "#lib/services/accounts/audit-list";
import { inviteMember, listInvitations, withdrawInvitation } from "#lib/services/accounts/invitations";
import { listOwnAgents, putOwnTools, readOwnAgent, updateOwnAgent } from "#lib/services/agents/identities";
import type { Context } from "#lib/services/approvals/context";
import {
  cancelOwnAuthorization,
  listOwnAuthorizations,
  readOwnAuthorization,
} from "#lib/services/approvals/portal-authorizations";
import { eraseContent } from "#lib/services/attestations/erase";
import {
  exportOwnAttestations,
  listOwnAttestations,
  presentOwnAttestation,
  readOwnAttestation,
} from "#lib/services/attestations/own";
import { listApiKeys, makeApiKey, revokeOwnApiKey, rotateApiKey } from "#lib/services/keys/api-keys";
import {
  deleteOwnWebhook,
  readOwnWebhook,
  rotateOwnWebhook,
  testOwnWebhook,
  updateOwnWebhook,
} from "#lib/services/webhooks/deliveries";
import { createEndpoint } from "#lib/services/webhooks/endpoints";
import { joinPerson, signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import { changeRole, listMembers, removeMember } from "./organization";
import {
  askForFirstApproval,
  describeRequestLog,
  listRequests,
  readAgentUsage,
  readKeyUsage,
  readOverview,
  searchOrganization,
  sendFirstAttestation,
} from "./overview";

const unknownUuid = "01999999-9999-7999-8999-999999999999";
const unknownRequest = "areq_AAAAAAAAAAAAAAAAAAAAAA";
const wanted = { disclose: [], audience: "a", nonce: "n", expires_in: 60 };
const page = { cursor: undefined, limit: 50 };

async function failureOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "no failure";
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return `${error.errorName} ${error.detail}`;
  }
}

describe("isolation in the portal", () => {
  const { test } = setupTestApp();
  let context: Context;
  let stranger: MemberPrincipal;
  let owner: MemberPrincipal;
  let attestationId: string;
  let requestId: string;
  beforeAll(async () => {
    ({ context } = test.app);
    owner = await signInPerson(context, "owner@example.com");
    stranger = await signInPerson(context, "stranger@example.com");
    const { key } = await test.createKey("owner@example.com");
    const action = "=HYPERLINK(1) paid";
    const body = { agent_slug: "owned", action, inputs_hash: "x", is_public: false };
    attestationId = (await test.call("POST", "/v1/attest", { key, body })).body.attestation_id;
    const asked = { agent_slug: "owned", action: "pay" };
    requestId = (await test.call("POST", "/v1/authorize", { key, body: asked })).body.request_id;
  });

  it("gives its owner everything", async () => {
    expect((await readOwnAttestation(context, owner, attestationId)).verification.valid).toBe(true);
    expect((await readOwnAuthorization(context, owner, requestId)).approval_url).toContain("/approve/");
    expect((await readOwnAgent(context, owner, "owned")).slug).toBe("owned");
    expect((await readOverview(context, owner)).attestationsToday).toBe(1);
  });

  it("lists nothing of another organization", async () => {
    const query = { ...page, status: undefined, agent_slug: undefined };
    expect((await listOwnAttestations(context, stranger, {}, page)).rows).toEqual([]);
    expect((await listOwnAttestations(context, stranger, { q: attestationId }, page)).rows).toEqual([]);
    expect((await listOwnAgents(context, stranger, page)).rows).toEqual([]);
    expect((await listOwnAuthorizations(context, stranger, query)).rows).toEqual([]);
    const { rows } = await listAuditEvents(context, stranger, { kind: undefined, ...page });
    expect(rows.map(({ action }) => action)).toEqual(["organization.created"]);
  });

  it("refuses a stranger who claims to act for the organization", async () => {
    const impostor = { ...stranger, organizationId: owner.organizationId };
    const acts: Record<string, () => Promise<unknown>> = {
      overview: () => readOverview(context, impostor),
      attestations: () => listOwnAttestations(context, impostor, {}, page),
      export: () => exportOwnAttestations(context, impostor, "csv", {}),
      audit: () => listAuditEvents(context, impostor, { kind: undefined, ...page }),
      keys: () => listApiKeys(context, impostor, page),
      revocation: () => revokeOwnApiKey(context, impostor, unknownUuid),
      search: () => searchOrganization(context, impostor, "paid"),
      firstAttestation: () => sendFirstAttestation(context, impostor),
      firstApproval: () => askForFirstApproval(context, impostor),
      requests: () => listRequests(context, impostor, {}, page),
      requestLog: () => describeRequestLog(context, impostor),
      keyUsage: () => readKeyUsage(context, impostor),
      agentUsage: () => readAgentUsage(context, impostor),
    };
    for (const [name, act] of Object.entries(acts))
      expect(await failureOf(act()), name).toBe("not_found nothing exists with this id");
  });

  it("exports every own attestation, formulas disarmed in CSV and exact in NDJSON", async () => {
    const read = async (format: "csv" | "ndjson") => {
      let text = "";
      for await (const part of await exportOwnAttestations(context, owner, format, {})) text += part;
      return text;
    };
    const csv = await read("csv");
    expect(csv).toContain(`"'=HYPERLINK(1) paid"`);
    expect(csv).not.toMatch(/(^|,)"?=/m);
    const [header = "", , note = ""] = csv.split("\r\n");
    expect(header).toMatch(/^\ufeff"attestation_id"/);
    for (const column of ["amount", "currency", "tool", "decided_by", "approvers", "rule", "use"])
      expect(header).toContain(`"${column}"`);
    expect(note).toContain("The exact text is in the NDJSON export.");
    const lines = (await read("ndjson")).trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line).action)).toEqual(["=HYPERLINK(1) paid"]);
  });

  it("finds by part of the action, literally, and by every filter", async () => {
    const find = async (filters: Parameters<typeof listOwnAttestations>[2]) =>
      (await listOwnAttestations(context, owner, filters, page)).rows.length;
    const today = context.clock().toISOString().slice(0, 10);
    expect(await find({ q: "paid" })).toBe(1);
    expect(await find({ q: "%" })).toBe(0);
    expect(await find({ q: "_" })).toBe(0);
    expect(
      await find({ agent: "OWNED", visibility: "private", approval: "none", from: today, until: today }),
    ).toBe(1);
    expect(await find({ visibility: "public" })).toBe(0);
    expect(await find({ until: "2020-01-01" })).toBe(0);
  });
});

/** Every way in that takes an id: with one of the owner's things and with one that nobody has. */
const doors: Record<string, (context: Context, person: MemberPrincipal, id: string) => Promise<unknown>> = {
  attestation: readOwnAttestation,
  presentation: (context, person, id) => presentOwnAttestation(context, person, id, wanted),
  erasure: eraseContent,
  agent: readOwnAgent,
  profile: (context, person, slug) => updateOwnAgent(context, person, slug, { name: "x" }),
  tools: (context, person, slug) => putOwnTools(context, person, slug, ["x"]),
  request: readOwnAuthorization,
  cancel: cancelOwnAuthorization,
  webhook: (context, person, id) => readOwnWebhook(context, person, id, page),
  webhookTest: testOwnWebhook,
  webhookChange: (context, person, id) =>
    updateOwnWebhook(context, person, id, { events: ["attestation.created"] }),
  webhookRotation: (context, person, id) => rotateOwnWebhook(context, person, id, 1),
  webhookDeletion: deleteOwnWebhook,
  rotation: (context, person, keyId) => rotateApiKey(context, person, { keyId, overlapHours: 1 }),
  revocation: revokeOwnApiKey,
  invitation: withdrawInvitation,
  role: (context, person, userId) => changeRole(context, person, { userId, role: "owner" }),
  removal: (context, person, userId) => removeMember(context, person, { userId, revokeKeys: true }),
};

describe("what another organization has", () => {
  const { test } = setupTestApp();
  let context: Context;
  let owner: MemberPrincipal;
  const theirs: Record<string, string> = {};
  beforeAll(async () => {
    ({ context } = test.app);
    owner = await signInPerson(context, "owner@example.com");
    const { id: keyId, text: key } = await makeApiKey(context, owner, {
      name: "theirs",
      scopes: scopeNames,
      lifetimeDays: null,
    });
    const body = { agent_slug: "owned", action: "paid", inputs_hash: "x", enable_zk: true };
    const { attestation_id: id } = (await test.call("POST", "/v1/attest", { key, body })).body;
    const asked = { agent_slug: "owned", action: "pay" };
    const { request_id: request } = (await test.call("POST", "/v1/authorize", { key, body: asked })).body;
    await inviteMember(context, owner, { email: "invited@example.com", role: "member" });
    const [invitation] = await listInvitations(context.database.db, owner.organizationId);
    const { userId: colleague } = await joinPerson(context, "colleague@example.com", owner.organizationId);
    Object.assign(theirs, { attestation: id, presentation: id, erasure: id, request, cancel: request });
    Object.assign(theirs, { agent: "owned", profile: "owned", tools: "owned", role: colleague });
    Object.assign(theirs, { rotation: keyId, revocation: keyId, removal: colleague });
    Object.assign(theirs, { invitation: invitation?.id });
    const wish = { url: "http://127.0.0.1:9/", events: ["authorization.denied" as const] };
    const { id: hook } = await createEndpoint(context, owner, wish);
    Object.assign(theirs, { webhook: hook, webhookTest: hook, webhookChange: hook, webhookRotation: hook });
    Object.assign(theirs, { webhookDeletion: hook });
  });

  const readEverything = async () => ({
    attestation: (await readOwnAttestation(context, owner, theirs["attestation"] ?? "")).verification.valid,
    agent: await readOwnAgent(context, owner, "owned"),
    request: (await readOwnAuthorization(context, owner, theirs["request"] ?? "")).status,
    webhook: (await readOwnWebhook(context, owner, theirs["webhook"] ?? "", page)).webhook,
    keys: (await listApiKeys(context, owner, page)).rows.map(({ name, state }) => [name, state]),
    invitations: (await listInvitations(context.database.db, owner.organizationId)).length,
    members: (await listMembers(context.database.db, owner.organizationId)).map(({ role }) => role),
  });

  it("is to a stranger as if the id were unknown, and stays as it was", async () => {
    const stranger = await signInPerson(context, "stranger@example.com");
    const before = await readEverything();
    expect(before).toMatchObject({ attestation: true, request: "pending", invitations: 1 });
    expect(before).toMatchObject({ keys: [["theirs", "live"]], members: ["owner", "member"] });
    for (const [name, open] of Object.entries(doors)) {
      const id = theirs[name] ?? "";
      const unknown = id.startsWith("areq_") ? unknownRequest : id === "owned" ? "nobody" : unknownUuid;
      const answer = await failureOf(open(context, stranger, id));
      expect(answer, name).toMatch(/not_found/);
      expect(answer, name).toBe(await failureOf(open(context, stranger, unknown)));
    }
    expect(await readEverything()).toEqual(before);
  });

  it("opens to its owner through every one of these doors", async () => {
    // Doors that end a thing come after those that read it, in the table above.
    for (const [name, open] of Object.entries(doors))
      expect(await failureOf(open(context, owner, theirs[name] ?? "")), name).toBe("no failure");
  });
});
