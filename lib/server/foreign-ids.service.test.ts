/** Another organization's id is, for every operation, an unknown one. */
import { describe, expect, it } from "vitest";
import { requestExamples } from "#lib/api/operations/examples";
import { operations } from "#lib/api/operations/index";
import { startTestApp } from "#support/app";
import { anyKind } from "#support/databases";

const unknownId = "019a0000-0000-7000-8000-000000000000";
const withoutId = ({ status, body }: { status: number; body: Record<string, unknown> }) => {
  const { request_id, ...rest } = body;
  return { status, rest, hasId: typeof request_id === "string" };
};

describe("another organization", () => {
  it("gets for every keyed path with an id of ours what it gets for an unknown id", async () => {
    const test = await startTestApp(anyKind);
    try {
      const { key } = await test.createKey();
      const { key: stranger } = await test.createKey("stranger@example.com");
      const made = await test.call("POST", "/v1/attest", {
        key,
        body: { agent_slug: "ours", action: "a", inputs_hash: "b", is_public: false },
      });
      const asked = await test.call("POST", "/v1/authorize", {
        key,
        body: { agent_slug: "ours", action: "a" },
      });
      const hook = await test.call("POST", "/v1/webhooks", { key, body: requestExamples.createWebhook });
      expect([made.status, asked.status, hook.status]).toEqual([201, 201, 201]);
      const ours: Record<string, string> = {
        id: made.body.attestation_id,
        slug: "ours",
        request_id: asked.body.request_id,
        webhook_id: hook.body.id,
      };
      const unknown: Record<string, string> = {
        id: unknownId,
        slug: "nobody",
        request_id: "areq_AAAAAAAAAAAAAAAAAAAAAA",
        webhook_id: unknownId,
      };
      const Operations = [{ op: "remove", path: "externalId" }];
      const patch = { schemas: ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], Operations };
      const bodies: Record<string, unknown> = {
        ...{ putTools: { tools: [] }, updateIdentity: { name: "x" } },
        ...{ patchDirectoryUser: patch, patchDirectoryGroup: patch },
      };
      const withIds = Object.entries(operations).filter(
        ([, spec]) => spec.auth.kind === "key" && /\{(id|slug|request_id|webhook_id)\}/.test(spec.path),
      );
      expect(withIds.length).toBeGreaterThan(2);
      for (const [id, spec] of withIds) {
        const call = (values: Record<string, string>) =>
          test.call(
            spec.method,
            spec.path
              .replace(/\{(\w+)\}/, (_, name: string) => values[name] ?? "")
              .replace("{message_id}", `msg_${"0".repeat(32)}`),
            {
              key: stranger,
              ...(spec.method !== "GET" && { body: bodies[id] ?? {} }),
            },
          );
        const [theirs, nobodys] = [await call(ours), await call(unknown)];
        expect([id, withoutId(theirs)]).toEqual([id, withoutId(nobodys)]);
        expect([id, theirs.status]).toEqual([id, expect.toBeOneOf([404, 422])]);
      }
      expect((await test.call("GET", `/v1/authorize/${asked.body.request_id}`, { key })).body.status).toBe(
        "pending",
      );
    } finally {
      await test.close();
    }
  });
});
