/** Another organization's id is, for every operation, an unknown one. */
import { expect, it } from "vitest";
import { requestExamples } from "#lib/api/operations/examples";
import { operations } from "#lib/api/operations/index";
import { setupTestApp } from "#support/setup-app";

const unknownId = "019a0000-0000-7000-8000-000000000000";
const withoutId = ({ status, body }: { status: number; body: Record<string, unknown> }) => {
  const { request_id, ...rest } = body;
  return { status, rest, hasId: typeof request_id === "string" };
};
const { test, key, stranger } = setupTestApp();

it("gets for every keyed path with an id of ours, private or public, what it gets for an unknown id", async () => {
  const make = async (path: string, body: unknown) => {
    const made = await test.call("POST", path, { key, body });
    expect([path, made.status]).toEqual([path, 201]);
    return made.body;
  };
  const asked = await make("/v1/authorize", { agent_slug: "ours", action: "a" });
  const hook = await make("/v1/webhooks", requestExamples.createWebhook);
  const idOf = async (is_public: boolean) => {
    const body = { agent_slug: "ours", action: "a", inputs_hash: "b", is_public, enable_zk: true };
    return (await make("/v1/attest", body)).attestation_id;
  };
  const others = { slug: "ours", request_id: asked.request_id, webhook_id: hook.id };
  const unknown: Record<string, string> = {
    ...{ id: unknownId, slug: "nobody" },
    ...{ request_id: "areq_AAAAAAAAAAAAAAAAAAAAAA", webhook_id: unknownId },
  };
  const Operations = [{ op: "remove", path: "externalId" }];
  const patch = { schemas: ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], Operations };
  const bodies: Record<string, unknown> = {
    ...requestExamples,
    ...{ putTools: { tools: [] }, updateIdentity: { name: "x" } },
    ...{ patchDirectoryUser: patch, patchDirectoryGroup: patch },
  };
  const withIds = Object.entries(operations).filter(
    ([, spec]) => spec.auth.kind === "key" && /\{(id|slug|request_id|webhook_id)\}/.test(spec.path),
  );
  expect(withIds.length).toBeGreaterThan(2);
  for (const ours of [
    { ...others, id: await idOf(false) },
    { ...others, id: await idOf(true) },
  ])
    for (const [id, spec] of withIds) {
      const call = (values: Record<string, string>) => {
        const path = spec.path
          .replace(/\{(\w+)\}/, (_, name: string) => values[name] ?? "")
          .replace("{message_id}", `msg_${"0".repeat(32)}`);
        const body = spec.method === "GET" ? {} : { body: bodies[id] ?? {} };
        return test.call(spec.method, path, { key: stranger, ...body });
      };
      const [theirs, nobodys] = [await call(ours), await call(unknown)];
      expect([id, withoutId(theirs)]).toEqual([id, withoutId(nobodys)]);
      expect([id, theirs.status]).toEqual([id, 404]);
    }
  const { body } = await test.call("GET", `/v1/authorize/${asked.request_id}`, { key });
  expect(body).toMatchObject({ status: "pending", run: null });
});
