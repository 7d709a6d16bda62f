/**
 * Demonstrates the fault of a package without one of our patches (.ci/patches/README.md), in a process of its own
 * because some of these faults end theirs.
 *
 *   node e2e/support/patch-faults.mjs PATCH FOLDER DATABASE_URL   prints "faulty" or "sound"
 *
 * FOLDER has the package in its node_modules.
 */
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";

const [, , patch = "", folder = "", url = ""] = process.argv;
const load = (file) => import(pathToFileURL(`${folder}/node_modules/${file}`).href);
const quiet = { max: 1, onnotice: () => {} };
const connect = async (to, options) =>
  (await load("postgres/src/index.js")).default(to, { ...quiet, ...options });

/** Answers the address of a server that does `work` with each connection. */
function serve(work) {
  return new Promise((resolve) => {
    const server = createServer(work).listen(0, "127.0.0.1", () => {
      server.unref();
      resolve(`postgres://nobody@127.0.0.1:${server.address().port}/none`);
    });
  });
}

async function isTriedWithoutPause() {
  let tries = 0;
  const address = await serve((socket) => {
    tries += 1;
    socket.destroy();
  });
  const sql = await connect(address, { backoff: () => 0.1 });
  sql`SELECT 1`.catch(() => {});
  await sleep(500);
  return tries > 20;
}

async function goesOnAfterItsEnd() {
  const sql = await connect(url, { backoff: () => 0.01 });
  const other = await connect(url);
  let late = "";
  const lost = sql.begin(async (tx) => {
    const [{ pid }] = await tx`SELECT pg_backend_pid() AS pid`;
    await other`SELECT pg_terminate_backend(${pid})`;
    await sleep(100);
    await sql`SELECT 1`;
    late = await tx`SELECT 1`.then(
      () => "answered",
      () => "refused",
    );
  });
  await lost.catch(() => {});
  while (late === "") await sleep(10);
  return late === "answered";
}

async function rejectsWhereNobodyCatches() {
  const greeting = Buffer.from("R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I", "latin1");
  const address = await serve((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.write(greeting);
      socket.once("data", () => socket.resetAndDestroy());
    });
  });
  let isUncaught = false;
  process.on("unhandledRejection", () => {
    isUncaught = true;
  });
  const sql = await connect(address);
  await sql`SELECT 1`.catch(() => {});
  await sleep(50);
  return isUncaught;
}

async function beginsWithHoles() {
  const sql = await connect(url);
  await sql`SELECT 1 / (5 - n) FROM generate_series(1, 10) AS n`.catch(() => {});
  return (await sql`SELECT 'mine' AS whose`)[0]?.whose !== "mine";
}

async function takesAnothersAnswer() {
  const sql = await connect(url);
  const ask = (whose) => sql.unsafe("SELECT $1::text AS whose", [whose], { prepare: true });
  await ask("first");
  const unwritable = {
    toString: () => {
      throw new Error("not written");
    },
  };
  const asked = [ask("one"), ask(unwritable), ask("two"), ask("three")];
  const [, , two] = await Promise.race([Promise.allSettled(asked), sleep(2000, [])]);
  return two?.value?.[0]?.whose !== "two";
}

async function readsBytesAsText() {
  const sql = await connect(url);
  const read = () => sql.unsafe("SELECT $1::bytea AS bytes", [Buffer.of(0, 255)], { prepare: true });
  await read();
  await sql`SET bytea_output = 'escape'`;
  return String((await read())[0].bytes) !== "0,255";
}

async function sendsBytesAsText() {
  const sql = await connect(url);
  // An array of bytea with one dimension, no nulls and one element of two bytes, counted from 1.
  const packed = Buffer.from("0000000100000000000000110000000100000001" + "0000000200ff", "hex");
  const read = sql.unsafe("SELECT ($1::bytea[])[1] AS bytes", [sql.typed(packed, 0)], { prepare: true });
  return read.then(
    ([{ bytes }]) => String(bytes) !== "0,255",
    () => true,
  );
}

/** The line of its connection is full with it: it is sent, and others are asked on that connection. */
async function beginsWithoutItsConnection() {
  const sql = await connect(url, { max_pipeline: 1 });
  await sql`SELECT 1`;
  const before = sql`SELECT pg_sleep(0.1)`.execute();
  process.on("uncaughtException", () => {});
  const began = sql.begin((tx) => tx`SELECT 1`);
  await before;
  return began.then(
    () => false,
    () => true,
  );
}

/** A server that counts what comes before its first answer to a query. */
async function waitsForBegin() {
  const writes = [];
  const greeting = Buffer.from("R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I", "latin1");
  const address = await serve((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.write(greeting);
      socket.on("data", (bytes) => writes.push(bytes.toString("latin1")));
    });
  });
  const sql = await connect(address, { fetch_types: false });
  sql.beginPipelined?.("", (tx) => tx.unsafe("SELECT 'first'")).catch(() => {});
  await sleep(300);
  return !writes.join("").includes("SELECT 'first'");
}

async function derivesTwice() {
  const { create_generators } = await load("@digitalbazaar/bbs-signatures/lib/bbs/util.js");
  const { CIPHERSUITES } = await load("@digitalbazaar/bbs-signatures/lib/bbs/ciphersuites.js");
  const wanted = { count: 2, api_id: new Uint8Array(4), ciphersuite: CIPHERSUITES.BLS12381_SHA256 };
  const first = create_generators(wanted);
  return create_generators(wanted) !== first;
}

const faults = {
  "postgres+3.4.9+001+closed-connection": isTriedWithoutPause,
  "postgres+3.4.9+002+lost-transaction": goesOnAfterItsEnd,
  "postgres+3.4.9+003+array-types": rejectsWhereNobodyCatches,
  "postgres+3.4.9+004+row-count": beginsWithHoles,
  "postgres+3.4.9+005+unwritable-parameters": takesAnothersAnswer,
  "postgres+3.4.9+006+binary-bytes": readsBytesAsText,
  "postgres+3.4.9+007+unreserved-begin": beginsWithoutItsConnection,
  "postgres+3.4.9+008+pipelined-begin": waitsForBegin,
  "postgres+3.4.9+009+binary-parameters": sendsBytesAsText,
  "@digitalbazaar+bbs-signatures+3.0.0": derivesTwice,
};
const isFaulty = await faults[patch.replace(/\.patch$/, "")]();
process.stdout.write(isFaulty ? "faulty" : "sound", () => process.exit(0));
