/** Each patch of a package (.ci/patches) is still needed: without it, and it alone, the package does what it must not. */
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listPatches } from "#ci/patches";
import { createTestDatabase, databaseKinds } from "#support/databases";

const require = createRequire(import.meta.url);
const { parsePatchFile } = require("patch-package/dist/patch/parse.js");
const { reversePatch } = require("patch-package/dist/patch/reverse.js");
const { executeEffects } = require("patch-package/dist/patch/apply.js");

const packages = ["postgres", "@digitalbazaar/bbs-signatures"];
let folder: string;
let made: Awaited<ReturnType<typeof createTestDatabase>>;

function copyPackages() {
  rmSync(path.join(folder, "node_modules"), { recursive: true, force: true });
  for (const name of packages)
    cpSync(`node_modules/${name}`, path.join(folder, "node_modules", name), { recursive: true });
  mkdirSync(path.join(folder, "node_modules"), { recursive: true });
  symlinkSync(path.resolve("node_modules/@noble"), path.join(folder, "node_modules", "@noble"));
}

const takeOut = (patch: string) =>
  executeEffects(reversePatch(parsePatchFile(readFileSync(`.ci/patches/${patch}`, "utf8"))), {
    dryRun: false,
    bestEffort: false,
    cwd: folder,
  });

async function judge(patch: string) {
  const args = ["e2e/support/patch-faults.mjs", patch, folder, made.url];
  return (await promisify(execFile)(process.execPath, args)).stdout;
}

describe.skipIf(!databaseKinds.includes("postgres"))("without the patch", () => {
  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), "countersign-patches-"));
    made = await createTestDatabase({ empty: true });
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await made.drop();
  });

  it.each(listPatches())("%s, the package is faulty, and with it, sound", async (patch) => {
    copyPackages();
    expect(await judge(patch)).toBe("sound");
    takeOut(patch);
    expect(await judge(patch)).toBe("faulty");
  });
});

it("the README of .ci/patches has a row for each patch", () => {
  const readme = readFileSync(".ci/patches/README.md", "utf8");
  const numbered = listPatches().flatMap(
    (file) => /\+(\d+)\+([\w-]+)\.patch$/.exec(file)?.slice(1).join(" ") ?? [],
  );
  expect(readme).toMatch(/^Ten patches of two packages/m);
  expect([listPatches().length, numbered.filter((name) => !readme.includes(`| ${name} `))]).toEqual([10, []]);
});
