/**
 * Makes a release's fixtures, once and to be committed: golden receipts of every kind (public/vectors/<version>/), and
 * a dump of each kind of database (e2e/releases/<version>/), by the whole service with keys that are fixed and public.
 * lib/verifier/vectors.test.ts verifies the receipts, and lib/db/releases.process.test.ts upgrades the databases. A
 * folder that exists is never written again.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { startCluster, withoutFsync } from "./postgres.mjs";
import { root } from "./step.mjs";

const { version } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
const receipts = path.join(root, "public", "vectors", version);
const databases = path.join(root, "e2e", "releases", version);
for (const folder of [receipts, databases]) {
  if (!existsSync(folder)) continue;
  console.error(`${folder} exists: what a release leaves behind is made once`);
  process.exit(1);
}

const entry = `
  export { startTestApp } from "#support/app";
  export { makeReceiptSamples } from "#support/receipt-samples";
`;
const outfile = path.join(root, "dist", "make-release.mjs");
await build({
  stdin: { contents: entry, resolveDir: root, loader: "ts" },
  outfile,
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20",
  packages: "external",
  logLevel: "warning",
});
const { startTestApp, makeReceiptSamples } = await import(pathToFileURL(outfile).href);

async function read(test, target) {
  const { status, body } = await test.call("GET", target);
  if (status !== 200) throw new Error(`${target}: ${status}`);
  return body;
}

const seed = (fill) => Buffer.alloc(32, fill).toString("base64");

function rotate(settings, key) {
  const keyFile = path.join(settings.DATA_DIR, "next-key");
  writeFileSync(keyFile, key);
  const rotation = spawnSync(
    process.execPath,
    ["dist/cli/keys.mjs", "rotate", "attestation", "--new-key-file", keyFile],
    { cwd: root, env: { ...process.env, ...settings }, encoding: "utf8" },
  );
  if (rotation.status !== 0) throw new Error(rotation.stdout + rotation.stderr);
}

/** Runs the service once: receipts of every kind and, after a rotation, one signed with the next key. */
async function live(kind, databaseUrl) {
  const settings = {
    DATA_DIR: mkdtempSync(path.join(os.tmpdir(), "countersign-release-")),
    DATABASE_URL: databaseUrl,
    LOG_LEVEL: "silent",
    AUTH_SECRET: seed(100),
    SIGNING_KEY: seed(101),
    LOG_SIGNING_KEY: seed(102),
    ZK_SIGNING_KEY: seed(103),
  };
  const nextKey = { ...settings, SIGNING_KEY: seed(104) };
  const before = await startTestApp(kind, settings);
  const { key } = await before.createKey();
  const samples = await makeReceiptSamples(before, key);
  await before.close();
  rotate(settings, nextKey.SIGNING_KEY);
  const after = await startTestApp(kind, nextKey);
  const made = await after.call("POST", "/v1/attest", {
    key,
    body: { agent_slug: "invoice-bot", action: "Sent invoice 2026-115", inputs_hash: "sha256:abd" },
  });
  if (made.status !== 201) throw new Error(`after the rotation: ${made.status}`);
  samples["signed-by-a-retired-key"] = await read(after, `/v1/verify/${samples.plain.attestation_id}`);
  samples["signed-by-the-next-key"] = await read(after, `/v1/verify/${made.body.attestation_id}`);
  const keys = await read(after, "/v1/pubkey");
  const { rows } = await after.app.context.database.query(
    "SELECT id, encode(signature, 'base64') AS signature FROM attestations ORDER BY id",
    [],
  );
  await after.close();
  const { DATA_DIR, DATABASE_URL, LOG_LEVEL, ...keySettings } = nextKey;
  const release = {
    apiKey: key,
    settings: keySettings,
    signatures: Object.fromEntries(rows.map(Object.values)),
  };
  return { folder: settings.DATA_DIR, samples, keys, release };
}

const embedded = await live("embedded", "");
// A cluster of its own even with TEST_DATABASE_URL: all of it is dumped, by its own pg_dump.
const server = await startCluster(withoutFsync);
const hosted = await live("postgres", server.url);
// Plain SQL, so that restoring needs no psql, whose own commands begin with a backslash.
const dump = execFileSync(
  path.join(server.binaries, "pg_dump"),
  ["--inserts", "--no-owner", "--no-privileges", server.url],
  { encoding: "utf8", maxBuffer: 2 ** 28 },
);
await server.stop();

mkdirSync(receipts, { recursive: true });
mkdirSync(databases, { recursive: true });
const special = { private: "incomplete", erased: "erased" };
const list = Object.entries(embedded.samples).map(([name, sample]) => {
  const isText = typeof sample === "string";
  const file = isText ? `receipt.${name}` : `${name}.json`;
  writeFileSync(path.join(receipts, file), isText ? sample : `${JSON.stringify(sample, null, 2)}\n`);
  return { file, verdict: special[name] ?? "valid" };
});
writeFileSync(path.join(receipts, "keys.json"), `${JSON.stringify(embedded.keys, null, 2)}\n`);
writeFileSync(path.join(receipts, "index.json"), `${JSON.stringify(list, null, 2)}\n`);
writeFileSync(
  path.join(databases, "postgres.sql.gz"),
  gzipSync(dump.replaceAll(/^\\.*\n/gm, ""), { level: 9 }),
);
execFileSync("tar", ["-C", embedded.folder, "-czf", path.join(databases, "embedded.tar.gz"), "pglite"]);
const release = { embedded: embedded.release, postgres: hosted.release };
writeFileSync(path.join(databases, "release.json"), `${JSON.stringify(release, null, 2)}\n`);
for (const folder of [embedded.folder, hosted.folder]) rmSync(folder, { recursive: true, force: true });
rmSync(outfile);
console.log(`${list.length} receipts in ${receipts}, two databases in ${databases}`);
process.exit(0);
