/** Guarantee: whatever belongs to another organization is, in the portal, the same as what does not exist. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { databaseKinds } from "#lib/db/testing";
import { AppError } from "#lib/errors";
import { startTestApp, type TestApp } from "#lib/http/testing";
import type { Context } from "./context";
import { exportOwnAttestations } from "./export-attestations";
import { withdrawInvitation } from "./invitations";
import type { Person } from "./members";
import {
  eraseOwnAttestation,
  listOwnAttestations,
  presentOwnAttestation,
  readOwnAttestation,
} from "./own-attestations";
import { listOwnAgents, putOwnTools, readOwnAgent, updateOwnAgent } from "./portal-agents";
import { listAuditEvents } from "./portal-audit";
import { cancelOwnAuthorization, listOwnAuthorizations, readOwnAuthorization } from "./portal-authorizations";
import { revokeOwnApiKey } from "./portal-keys";
import { readOverview } from "./portal-overview";
import { signInPerson } from "./portal-testing";

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

describe.each(databaseKinds)("isolation in the portal (%s)", (kind) => {
  let test: TestApp;
  let context: Context;
  let stranger: Person;
  let owner: Person;
  let attestationId: string;
  let requestId: string;
  beforeAll(async () => {
    test = await startTestApp(kind);
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
  afterAll(() => test.close());

  it("gives its owner everything", async () => {
    expect((await readOwnAttestation(context, owner, attestationId)).verification.valid).toBe(true);
    expect((await readOwnAuthorization(context, owner, requestId)).approval_url).toContain("/approve/");
    expect((await readOwnAgent(context, owner, "owned")).slug).toBe("owned");
    expect((await readOverview(context, owner)).attestationsToday).toBe(1);
  });

  it("answers a stranger as if the id were unknown", async () => {
    const doors: [string, (id: string) => Promise<unknown>, string, string][] = [
      ["attestation", (id) => readOwnAttestation(context, stranger, id), attestationId, unknownUuid],
      [
        "presentation",
        (id) => presentOwnAttestation(context, stranger, id, wanted),
        attestationId,
        unknownUuid,
      ],
      ["erasure", (id) => eraseOwnAttestation(context, stranger, id), attestationId, unknownUuid],
      ["agent", (id) => readOwnAgent(context, stranger, id), "owned", "nobody"],
      ["profile", (id) => updateOwnAgent(context, stranger, id, { name: "x" }), "owned", "nobody"],
      ["tools", (id) => putOwnTools(context, stranger, id, ["x"]), "owned", "nobody"],
      ["request", (id) => readOwnAuthorization(context, stranger, id), requestId, unknownRequest],
      ["cancel", (id) => cancelOwnAuthorization(context, stranger, id), requestId, unknownRequest],
      ["key", (id) => revokeOwnApiKey(context, stranger, id), unknownUuid, unknownUuid],
      ["invitation", (id) => withdrawInvitation(context, stranger, id), unknownUuid, unknownUuid],
    ];
    for (const [name, door, theirs, unknown] of doors) {
      const answer = await failureOf(door(theirs));
      expect(answer, name).toMatch(/not_found/);
      expect(answer, name).toBe(await failureOf(door(unknown)));
    }
    expect((await readOwnAuthorization(context, owner, requestId)).status).toBe("pending");
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
    const notFound = "not_found nothing is known under this id";
    expect(await failureOf(readOverview(context, impostor))).toBe(notFound);
    expect(await failureOf(listOwnAttestations(context, impostor, {}, page))).toBe(notFound);
    expect(await failureOf(exportOwnAttestations(context, impostor, "csv", {}))).toBe(notFound);
    expect(await failureOf(listAuditEvents(context, impostor, { kind: undefined, ...page }))).toBe(notFound);
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
