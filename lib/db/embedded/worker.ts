/** PGlite on a thread of its own. Bundled to dist/embedded-worker.mjs; lib/db/embedded/embedded.ts speaks with it. */
import "#lib/platform/node-wasm";
import v8 from "node:v8";
import { runInNewContext } from "node:vm";
import { parentPort, workerData } from "node:worker_threads";
import { PGlite } from "@electric-sql/pglite";
import { planSettings } from "#lib/db/postgres/time-limits";

const settings = {
  ...planSettings,
  // PostgreSQL clears its 128 MB of buffers at each start, and has the files in the system's cache as well.
  shared_buffers: "32MB",
};

const { folder } = workerData as { folder: string };
const client = await PGlite.create({
  startParams: [
    ...PGlite.defaultStartParams,
    ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
  ],
  dataDir: folder,
});

// Making a new database takes 430 MB, which the second of two collections frees. V8 would let them be for minutes: nothing
// else in this thread asks for room.
v8.setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;
for (const ms of [5000, 6000]) setTimeout(collectGarbage, ms).unref();

/** Whole messages of PostgreSQL's protocol, or null for the end. */
parentPort?.on("message", async (messages: Uint8Array | null) => {
  if (messages === null) {
    await client.close();
    parentPort?.close();
    return;
  }
  const answer = await client.execProtocolRaw(messages);
  parentPort?.postMessage(answer, [answer.buffer as ArrayBuffer]);
});
parentPort?.postMessage(null);
