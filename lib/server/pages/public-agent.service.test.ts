/** An agent's page: what it is made from, and how often it asks the database one thing after another. */
import { beforeAll, expect, it } from "vitest";
import type { Database } from "#lib/db/client";
import type { Context } from "#lib/services/approvals/context";
import { markUnattested } from "#lib/services/approvals/use/claim";
import { type AskedRequest, approveUnproven, ask } from "#support/authorizations";
import { setupTestApp } from "#support/setup-app";
import { readAgentForPage } from "./public-pages";

const { test } = setupTestApp();
beforeAll(async () => {
  const { key } = await test.createKey();
  for (const is_public of [true, false, true]) {
    const body = { agent_slug: "Round-Bot", action: "count", inputs_hash: "x", is_public };
    expect((await test.call("POST", "/v1/attest", { key, body })).status).toBe(201);
  }
});

/** Answers come when all that was asked is answered: that is a round. */
function countRounds(context: Context): { counted: Context; rounds(): number } {
  let rounds = 0;
  let asked = 0;
  const answered: (() => void)[] = [];
  const endRound = () => {
    if (asked === 0 || answered.length < asked) return;
    rounds += 1;
    asked = 0;
    for (const give of answered.splice(0)) give();
  };
  const inRounds =
    <Given extends unknown[], Answer>(ask: (...given: Given) => Promise<Answer>) =>
    async (...given: Given): Promise<Answer> => {
      asked += 1;
      const answer = await ask(...given);
      await new Promise<void>((give) => {
        answered.push(give);
        setImmediate(endRound);
      });
      return answer;
    };
  const { database, keys } = context;
  const statement = ((...text) => inRounds(database.statement(...text))) as Database["statement"];
  const batched = ((...text) => inRounds(database.batched(...text))) as Database["batched"];
  const published = inRounds(() => keys.published());
  return {
    counted: { ...context, database: { ...database, statement, batched }, keys: { ...keys, published } },
    rounds: () => rounds,
  };
}

it("has the length of the whole record, private entries too", async () => {
  const page = await readAgentForPage(test.app.context, "round-bot");
  expect([page.agent.slug, page.agent.total_attestations]).toEqual(["Round-Bot", 2]);
  expect(page.record).toEqual({ length: 3, unattested: 0 });
});

it("counts the approvals that a run has claimed and nothing has attested", async () => {
  const { key } = await test.createKey();
  const { database } = test.app.context;
  const claimed: AskedRequest[] = [];
  for (const run of ["one", "two", "three"]) {
    const asked = await ask(test, key, { agent_slug: "claiming-bot" });
    await approveUnproven(test, asked.made.request_id);
    const path = `/v1/authorize/${asked.made.request_id}/claim`;
    expect((await test.call("POST", path, { key, body: { run } })).status).toBe(200);
    claimed.push(asked);
  }
  const [, , done] = claimed;
  const { human_authorization } = (await done?.read())?.body ?? {};
  const action = "Pay 12,000 EUR to Example GmbH";
  const body = { agent_slug: "claiming-bot", action, inputs_hash: "x", human_authorization };
  expect((await test.call("POST", "/v1/attest", { key, body })).status).toBe(201);
  const unattested = async () => (await readAgentForPage(test.app.context, "claiming-bot")).record.unattested;
  expect(await unattested(), "within the hour").toBe(0);
  await database.query(
    "UPDATE authorization_requests SET claimed_at = claimed_at - interval '61 minutes'",
    [],
  );
  await markUnattested(database);
  expect(await unattested()).toBe(2);
});

it("asks two things one after the other at most, so a slow database costs it two waits", async () => {
  const { counted, rounds } = countRounds(test.app.context);
  const page = await readAgentForPage(counted, "round-bot");
  expect(page.agent.attestations).toHaveLength(2);
  expect(rounds()).toBe(2);
});

it("reads a filtered page in a statement of its own, for which nobody else's page waits", async () => {
  const { context } = test.app;
  const shared: string[] = [];
  const batched = ((...[text, types]) => {
    shared.push(text);
    return context.database.batched(text, types);
  }) as Database["batched"];
  const watched = { ...context, database: { ...context.database, batched } };
  const countShared = async (filter: Parameters<typeof readAgentForPage>[2]) => {
    shared.length = 0;
    const { agent } = await readAgentForPage(watched, "round-bot", filter);
    return [agent.attestations.length, shared.filter((text) => text.includes("ILIKE")).length];
  };
  expect(await countShared({})).toEqual([2, 1]);
  expect(await countShared({ action: "oun" })).toEqual([2, 0]);
  expect(await countShared({ action: "nothing" })).toEqual([0, 0]);
  expect(await countShared({ warnings: false })).toEqual([2, 0]);
  expect(await countShared({ approval: "none" })).toEqual([2, 0]);
});
