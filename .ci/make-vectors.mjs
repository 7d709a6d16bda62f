/**
 * Makes the golden receipts of this release, public/vectors/<version>/: one of every kind, by the whole service with
 * keys that are fixed and public. Run once for a release and committed; lib/verifier/vectors.test.ts verifies all of
 * them. A folder that already exists is never written again.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { root } from "./step.mjs";

const { version } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
const folder = path.join(root, "public", "vectors", version);
if (existsSync(folder)) {
  console.error(`${folder} exists: golden receipts are made once`);
  process.exit(1);
}

const seed = (fill) => Buffer.alloc(32, fill).toString("base64");
const home = mkdtempSync(path.join(os.tmpdir(), "countersign-vectors-"));
const settings = {
  DATA_DIR: home,
  DATABASE_URL: "",
  LOG_LEVEL: "silent",
  SIGNING_KEY: seed(101),
  LOG_SIGNING_KEY: seed(102),
  ZK_SIGNING_KEY: seed(103),
};
const nextKey = { ...settings, SIGNING_KEY: seed(104) };

const entry = `
  export { startTestApp } from "#support/app";
  export { makeReceiptSamples } from "#support/receipt-samples";
`;
const outfile = path.join(root, "dist", "make-vectors.mjs");
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

const before = await startTestApp("embedded", settings);
const { key } = await before.createKey();
const samples = await makeReceiptSamples(before, key);
await before.close();

const keyFile = path.join(home, "next-key");
writeFileSync(keyFile, nextKey.SIGNING_KEY);
const rotation = spawnSync(
  process.execPath,
  ["dist/cli/keys.mjs", "rotate", "attestation", "--new-key-file", keyFile],
  { cwd: root, env: { ...process.env, ...settings }, encoding: "utf8" },
);
if (rotation.status !== 0) throw new Error(rotation.stdout + rotation.stderr);

const after = await startTestApp("embedded", nextKey);
const made = await after.call("POST", "/v1/attest", {
  key,
  body: { agent_slug: "invoice-bot", action: "Sent invoice 2026-115", inputs_hash: "sha256:abd" },
});
if (made.status !== 201) throw new Error(`after the rotation: ${made.status}`);
samples["signed-by-a-retired-key"] = await read(after, `/v1/verify/${samples.plain.attestation_id}`);
samples["signed-by-the-next-key"] = await read(after, `/v1/verify/${made.body.attestation_id}`);
const keys = await read(after, "/v1/pubkey");
await after.close();
rmSync(home, { recursive: true, force: true });
rmSync(outfile);

const special = { private: "incomplete", erased: "erased" };
mkdirSync(folder, { recursive: true });
const list = Object.entries(samples).map(([name, sample]) => {
  const isText = typeof sample === "string";
  const file = isText ? `receipt.${name}` : `${name}.json`;
  writeFileSync(path.join(folder, file), isText ? sample : `${JSON.stringify(sample, null, 2)}\n`);
  return { file, verdict: special[name] ?? "valid" };
});
writeFileSync(path.join(folder, "keys.json"), `${JSON.stringify(keys, null, 2)}\n`);
writeFileSync(path.join(folder, "index.json"), `${JSON.stringify(list, null, 2)}\n`);
console.log(`${list.length} receipts in ${folder}`);
process.exit(0);
