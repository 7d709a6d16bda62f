/** World is away while people approve: nobody waits for it but they, no proof is lost, and none counts too late. */
import postgres from "postgres";
import { callServer } from "#e2e/http/server-process";
import { fromPage } from "#support/authorizations";
import { layWire, type Wire } from "#support/cut-connections";
import { makeV4Result, startWorldStub } from "#support/world";
import { type Away, end, fastMs, until, ways } from "./away";
import type { Work } from "./operations";
import type { Probes } from "./probes";
import { type Scenario, seconds, underLoad } from "./scenario";

const human = 21n;
/** The service asks World for 10 s at most, for keys and a root and then for a verdict. */
const submitLimitMs = 30_000;

interface Submission {
  id: string;
  submit(): Promise<number>;
  status(): Promise<string>;
}

/** A person has the page open, and has made a proof. */
async function openApproval({ bases, key, ledger }: Work, agent_slug: string): Promise<Submission> {
  const base = bases[0] ?? "";
  const body = { agent_slug, action: "Pay" };
  const asked = (await callServer(base, "POST", "/v1/authorize", { key, body })).body;
  ledger.authorizations.add(asked.request_id);
  const path = `/approve/${asked.approval_url.split("/").at(-1)}`;
  const started = await callServer(base, "POST", `${path}/world-id`, { headers: fromPage, body: {} });
  const result = makeV4Result(started.body, human);
  return {
    id: asked.request_id,
    submit: async () => {
      const { status } = await callServer(base, "POST", `${path}/proof`, { headers: fromPage, body: result });
      if (status === 200) ledger.decisions.set(asked.request_id, new Set(["approved"]));
      return status;
    },
    status: async () =>
      (await callServer(base, "GET", `/v1/authorize/${asked.request_id}`, { key })).body.status,
  };
}

interface Scene {
  work: Work;
  wire: Wire;
  probes: Probes;
  sql: postgres.Sql;
  problems: string[];
}

/** As if the time had passed after which the stored proofs are tried again. */
const makeDue = (sql: postgres.Sql) =>
  sql`UPDATE approval_submissions SET next_attempt_at = now() WHERE status = 'pending'`;

async function tryWay({ work, wire, probes, sql, problems }: Scene, way: Away): Promise<string> {
  const [waiting, expiring] = [
    await openApproval(work, "waiting-bot"),
    await openApproval(work, "expiring-bot"),
  ];
  await way.begin(wire);
  const startedMs = performance.now();
  const [first, second, fastestMs] = await Promise.all([
    waiting.submit(),
    expiring.submit(),
    probes.round([200, 201], problems, fastMs),
  ]);
  const submittedMs = performance.now() - startedMs;
  const expected = way.isSlow ? [200, 503] : [503];
  for (const status of [first, second])
    if (!expected.includes(status) || submittedMs > submitLimitMs)
      problems.push(`${way.name}: a proof was answered ${status} after ${seconds(submittedMs)}`);
  if (first !== 200 && (await waiting.status()) !== "pending")
    problems.push(`${way.name}: the request is ${await waiting.status()} while World is away`);
  await sql`UPDATE authorization_requests SET expires_at = clock_timestamp() WHERE id = ${expiring.id} AND status = 'pending'`;
  await end(wire, way);
  await makeDue(sql);
  await until("the approval of a stored proof", 30_000, async () => (await waiting.status()) === "approved");
  const late = await expiring.status();
  if (late !== (second === 200 ? "approved" : "expired"))
    problems.push(`${way.name}: the request that ended meanwhile is ${late}`);
  return `${way.name}: the API within ${seconds(fastestMs)}, proofs ${first} and ${second} after ${seconds(submittedMs)}`;
}

export const worldAway: Scenario = {
  name: "World away",
  run: async (chance) => {
    const stub = await startWorldStub();
    const wire = await layWire(stub.settings["WORLD_PORTAL_URL"] ?? "");
    const at = wire.url.replace(/\/$/, "");
    const settings = async () => ({
      ...stub.settings,
      WORLD_PORTAL_URL: at,
      WORLD_CHAIN_RPC_URL: `${at}/rpc`,
    });
    try {
      // A real World ID takes no receiver on this machine.
      return await underLoad(
        { chance, settings, webhookUrl: null },
        async ({ work, cluster }, probes, problems) => {
          const sql = postgres(cluster.url, { max: 1, onnotice: () => {} });
          const said: string[] = [];
          for (const way of ways) said.push(await tryWay({ work, wire, probes, sql, problems }, way));
          await sql.end();
          return said.join("; ");
        },
      );
    } finally {
      await wire.close();
      await stub.close();
    }
  },
};
