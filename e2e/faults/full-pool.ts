/** The database has no connection left for the service, or all of the service's wait for a lock. */
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { type Act, type Scenario, seconds, underLoad } from "./scenario";
import type { Stage } from "./stage";

const open = (url: string) =>
  postgres(url, {
    max: 1,
    onnotice: () => {},
    connect_timeout: 5,
    connection: { application_name: "others" },
  });

/** Others take every connection that PostgreSQL has, the service's own too. Returns what gives them back. */
async function takeAll(url: string): Promise<() => Promise<void>> {
  const taken: postgres.Sql[] = [];
  const first = open(url);
  await first`SELECT 1`;
  taken.push(first);
  for (let refused = 0; refused < 5; ) {
    await first`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'countersign%'`;
    const next = open(url);
    const isOpen = await next`SELECT 1`.then(
      () => true,
      () => false,
    );
    if (isOpen) taken.push(next);
    else await next.end({ timeout: 1 });
    const [row] = await first<{ n: number }[]>`
      SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name LIKE 'countersign%'`;
    refused = isOpen || row?.n !== 0 ? 0 : refused + 1;
  }
  return async () => {
    await Promise.all(taken.map((one) => one.end({ timeout: 5 })));
  };
}

/** One of the others holds what every attestation and every read of one needs. */
async function lockTables({ cluster }: Stage, holdMs: number): Promise<{ held: Promise<unknown> }> {
  const other = open(cluster.url);
  let isLocked = false;
  const held = other
    .begin(async (tx) => {
      await tx`LOCK TABLE logs, attestations, api_keys IN ACCESS EXCLUSIVE MODE`;
      isLocked = true;
      await sleep(holdMs);
    })
    .finally(() => other.end({ timeout: 5 }));
  held.catch(() => {});
  while (!isLocked) await sleep(10);
  return { held };
}

export const takeConnections: Act = async (stage, probes, problems) => {
  const giveBack = await takeAll(stage.cluster.url);
  const takenMs = Math.max(await probes.round([503], problems), await probes.round([503], problems));
  await giveBack();
  const backMs = await probes.back();
  return `503 after ${seconds(takenMs)}, back after ${seconds(backMs)}`;
};

export const fullPool: Scenario = {
  name: "full pool",
  run: (chance) => underLoad({ chance, clusterSettings: ["max_connections=30"] }, takeConnections),
};

const lockedMs = 40_000;
/** Limit of the service: 8 s for a statement and its turn, of which a page may need three. */
const waitLimitMs = 25_000;

export const lockedTables: Scenario = {
  name: "locked tables",
  run: (chance) =>
    underLoad({ chance }, async (stage, probes, problems) => {
      const startedMs = performance.now();
      const isLocked = () => performance.now() - startedMs < lockedMs;
      const { held } = await lockTables(stage, lockedMs);
      let longestMs = 0;
      // So many that they wait for a connection too, not for the lock alone.
      const crowd = Array.from({ length: 40 }, async (_, place) => {
        while (isLocked()) {
          // Pages of one address wait for one another, whatever the database does.
          const names =
            place === 0 ? probes.names : probes.names.filter((name) => name !== "page" && name !== "agent");
          const ms = await probes.round([200, 201, 503], problems, waitLimitMs, names);
          longestMs = Math.max(longestMs, ms);
          await sleep(100);
        }
      });
      await Promise.all([held, ...crowd]);
      const backMs = await probes.back();
      return `longest answer ${seconds(longestMs)}, back after ${seconds(backMs)}`;
    }),
};
