/**
 * Several processes deliver each message once, and kill -9 in the middle of deliveries loses none: what the dead process
 * had taken is sent again by another, under the same id.
 */
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { databaseKinds } from "#support/databases";
import { type Fleet, startFleet } from "#support/fleet";
import { fetchApiKey } from "#support/processes";
import { type Receiver, startReceiver } from "#support/webhook-receiver";

const idsOf = ({ received }: Receiver) => received.map(({ headers }) => headers["webhook-id"] ?? "");

describe.skipIf(!databaseKinds.includes("postgres"))("webhooks of two processes", () => {
  let fleet: Fleet;
  let receiver: Receiver;
  let key: string;
  beforeAll(async () => {
    fleet = await startFleet(2);
    receiver = await startReceiver();
    const [first] = fleet.members;
    key = await fetchApiKey((await first?.ready()) ?? "");
    const body = { url: receiver.url, events: ["attestation.created"] };
    expect((await first?.call("POST", "/v1/webhooks", { key, body }))?.status).toBe(201);
  });
  afterAll(async () => {
    await fleet.close();
    await receiver.close();
  });

  const attest = async (count: number) => {
    const made = Array.from({ length: count }, (_, i) =>
      fleet.members[i % 2]?.call("POST", "/v1/attest", {
        key,
        body: { agent_slug: "crash-bot", action: "a", inputs_hash: "b" },
      }),
    );
    for (const answer of await Promise.all(made)) expect(answer?.status).toBe(201);
  };

  it("come once each", async () => {
    await attest(40);
    await receiver.expect(40);
    // Longer than a round of either process.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(new Set(idsOf(receiver)).size).toBe(40);
    expect(receiver.received).toHaveLength(40);
  });

  it("come at least once if a process is killed while it sends them", async () => {
    const before = receiver.received.length;
    let held = 0;
    // From now on nobody is answered: what was taken is on its way when the processes die.
    receiver.answer = () => {
      held += 1;
      return null;
    };
    await attest(20);
    await receiver.expect(before + 8);
    await Promise.all(fleet.members.map(({ kill }) => kill()));
    expect(held).toBeGreaterThanOrEqual(8);
    receiver.answer = () => ({ status: 200 });
    const taken = new Set(idsOf(receiver).slice(before));
    const sql = postgres(fleet.settings.DATABASE_URL, { max: 1 });
    // Moves time past the point at which the dead processes are given up.
    const freed = await sql`UPDATE webhook_deliveries SET next_attempt_at = now() WHERE status = 'pending'`;
    expect(freed.count).toBe(20);
    await expect
      .poll(async () => (await sql`SELECT FROM webhook_deliveries WHERE status = 'pending'`).length, {
        timeout: 60_000,
      })
      .toBe(0);
    const delivered = await sql`SELECT message_id FROM webhook_deliveries WHERE status = 'delivered'`;
    await sql.end();
    const arrived = idsOf(receiver);
    expect(new Set(arrived)).toEqual(new Set(delivered.map(({ message_id }) => message_id)));
    expect(new Set(arrived).size).toBe(60);
    for (const id of taken) expect(arrived.filter((one) => one === id).length).toBeGreaterThanOrEqual(2);
  });
});
