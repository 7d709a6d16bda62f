/**
 * POST /v1/attest beside logs of others, each with a signature and what it stores, over HTTP like ours. Made from Go's module
 * proxy when the case runs; without Go, or without the modules, it says so and measures nothing.
 */
import { execFile, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { findFreePort } from "#ci/postgres";
import { attestSide } from "./case-attest.mjs";
import { printRatio, printSides, takeTurns } from "./rounds.mjs";
import { createMeter } from "./usage.mjs";

export const name = "peers";
export const isOptional = true;

const sources = fileURLToPath(new URL("peers", import.meta.url));

/** Moments at which each answers: how far it is then is the point of the comparison. */
const paths = {
  tessera: {
    "Tessera, signature and INSERT, integrated": "/integrated",
    "Tessera, signature and INSERT, published with proof": "/published",
  },
  immudb: { "immudb, VerifiedSet by 28 clients": "/verified" },
};

/** Null, with the reason printed, if it can't be built here. */
async function build(peer, folder) {
  const program = path.join(folder, peer);
  try {
    await promisify(execFile)("go", ["build", "-o", program, "."], { cwd: path.join(sources, peer) });
    return program;
  } catch (error) {
    console.log(
      `\nskipped: ${peer} can't be built here: ${String(error.stderr ?? error.message)
        .trim()
        .split("\n")
        .at(-1)}`,
    );
    return null;
  }
}

async function start(program, folder, database) {
  const port = await findFreePort();
  const child = spawn(program, [String(port), path.join(folder, `${path.basename(program)}-data`)], {
    env: { ...process.env, DATABASE_URL: database.url },
    stdio: "ignore",
  });
  // immudb goes on after SIGTERM.
  const stop = () => new Promise((done) => child.once("exit", done).kill("SIGKILL") || done());
  for (let tries = 0; tries < 300; tries += 1) {
    if (await fetch(`http://127.0.0.1:${port}/`).catch(() => null)) {
      return { port, meter: createMeter(child.pid, database.name), stop };
    }
    await sleep(100);
  }
  await stop();
  throw new Error(`${program} did not answer within 30 seconds`);
}

export async function run({ databases, service, fastify }, { seconds }) {
  const folder = await mkdtemp(path.join(os.tmpdir(), "countersign-peers-"));
  const peers = [];
  try {
    for (const peer of Object.keys(paths)) {
      const program = await build(peer, folder);
      if (program === null) continue;
      peers.push({ peer, ...(await start(program, folder, await databases.create(peer))) });
    }
    if (peers.length === 0) return;
    const [ours, plain] = [await service(), await fastify()];
    for (const connections of [1, 32, 128, 512]) {
      const load = { connections, seconds };
      const sides = {
        "POST /v1/attest": attestSide(ours, load),
        "Fastify, signature and INSERT": attestSide(plain, load, "/attest"),
      };
      for (const { peer, ...server } of peers)
        for (const [title, target] of Object.entries(paths[peer]))
          sides[title] = attestSide(server, load, target);
      const found = await takeTurns(sides);
      printSides(
        `POST /v1/attest and its peers, ${connections === 1 ? "a lone client" : `${connections} clients`}`,
        found,
      );
      const { "POST /v1/attest": attest, ...others } = found;
      for (const [title, other] of Object.entries(others))
        printRatio(`attest, ${connections} clients, against ${title}`, attest.perSecond / other.perSecond);
    }
  } finally {
    await Promise.all(peers.map(({ stop }) => stop()));
    await rm(folder, { recursive: true, force: true });
  }
}
