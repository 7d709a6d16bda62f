/** Inputs of the build: exact versions, licences that may be passed on, and a verifier that anyone can build again. */
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { encodeLicenses, listLicenses, readLockedPackages } from "#ci/licenses";
import { listProductionNames } from "#ci/production";
import { makeSbom } from "#ci/sbom";
import { encodeVerifierHash, hashVerifier, verifierHashFile } from "#ci/verifier";

const read = (file: string) => readFileSync(file, "utf8");
const manifest = JSON.parse(read("package.json"));
/** `packages`: those of a lockfile whose root depends on `names`. */
const refusedOf = (packages: object, names: string[]) =>
  listLicenses({
    "": { dependencies: Object.fromEntries(names.map((name) => [name, "1.0.0"])) },
    ...packages,
  })
    .filter(({ isFine }) => !isFine)
    .map(({ name }) => name);

it("runs only those tests of Python that are asked for", async () => {
  const env = { ...process.env, TEST_DATABASES: "embedded" };
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [".ci/test-python.mjs", "no-test-is-called-so"],
    { env },
  ).catch((error: { stdout: string }) => error);
  expect(stdout).toContain("0 passed, 1 failed");
});

describe("dependencies", () => {
  it("have exact versions, here and in the lockfile", () => {
    const all: [string, string][] = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
    expect(all.length).toBeGreaterThan(60);
    const exact = /^(?:npm:(?:@[\w-]+\/)?[\w-]+@)?\d+\.\d+\.\d+(?:-[\w.]+)?$/;
    expect(all.filter(([, version]) => !exact.test(version))).toEqual([]);
    const locked = readLockedPackages();
    expect(locked[""].dependencies).toEqual(manifest.dependencies);
    expect(locked[""].devDependencies).toEqual(manifest.devDependencies);
  });

  it("stay on the versions that run on this Node", () => {
    const { packageRules } = JSON.parse(read("renovate.json"));
    const held = packageRules.filter((rule: object) => "allowedVersions" in rule);
    const names = held.flatMap((rule: { matchPackageNames: string[] }) => rule.matchPackageNames);
    expect(names.filter((name: string) => !(name in manifest.dependencies))).toEqual([]);
  });
});

describe("licences at run time", () => {
  it("are allowed, and docs/licenses.md lists them (else run npm run licenses)", () => {
    const rows = listLicenses(readLockedPackages());
    expect(rows.length).toBeGreaterThan(200);
    expect(rows.filter(({ isFine }) => !isFine)).toEqual([]);
    expect(read("docs/licenses.md")).toBe(encodeLicenses(rows));
  });

  it.each([
    "GPL-3.0-only",
    "AGPL-3.0",
    "LGPL-3.0-or-later",
    "MIT AND GPL-2.0-only",
    "SEE LICENSE IN FILE",
    "UNLICENSED",
    "",
    undefined,
  ])("%s is refused", (license) => {
    const planted = { version: "1.0.0", license };
    expect(refusedOf({ "node_modules/planted": planted }, ["planted"])).toEqual(["planted"]);
    const over = { version: "1.0.0", license: "MIT", dependencies: { planted: "1.0.0" } };
    const inner = { "node_modules/over": over, "node_modules/over/node_modules/planted": planted };
    expect(refusedOf(inner, ["over"])).toEqual(["planted"]);
  });

  it("a choice is enough, what only builds or tests doesn't count, and an exception covers what it names only", () => {
    const entry = (license: string) => ({ version: "1.0.0", license });
    expect(refusedOf({ "node_modules/a": entry("(MIT OR GPL-3.0-or-later)") }, ["a"])).toEqual([]);
    expect(refusedOf({ "node_modules/a": entry("GPL-3.0-only") }, [])).toEqual([]);
    expect(refusedOf({ "node_modules/snarkjs": entry("GPL-3.0-only") }, ["snarkjs"])).toEqual([]);
    const swc = "@next/swc-linux-x64-gnu";
    expect(refusedOf({ [`node_modules/${swc}`]: entry("GPL-3.0-only") }, [swc])).toHaveLength(1);
  });
});

describe("the bill of materials", () => {
  it("lists in CycloneDX what runs in production and what uses what, without development packages", () => {
    const { bomFormat, components, dependencies } = makeSbom();
    expect(bomFormat).toBe("CycloneDX");
    const versions = new Map(components.map(({ name, version }) => [name, version]));
    const all = { ...manifest.dependencies, ...manifest.devDependencies };
    for (const name of listProductionNames(manifest))
      expect([name, versions.get(name)]).toEqual([name, all[name]]);
    for (const name of ["vitest", "snarkjs", "typescript"]) expect(versions.has(name)).toBe(false);
    const zod = components.find(({ name }) => name === "zod");
    expect(zod).toMatchObject({
      purl: `pkg:npm/zod@${manifest.dependencies.zod}`,
      hashes: [{ alg: "SHA-512" }],
    });
    expect(zod?.hashes[0]?.content).toMatch(/^[0-9a-f]{128}$/);
    expect(components.filter(({ licenses }) => licenses.length !== 1)).toEqual([]);
    const refs = new Set(components.map((one) => one["bom-ref"]));
    const used = dependencies.flatMap(({ dependsOn }) => dependsOn);
    expect(used.filter((ref) => !refs.has(ref))).toEqual([]);
    expect([...refs].filter((ref) => !used.includes(ref))).toEqual([]);
  });
});

describe("verify.mjs", () => {
  it("has the checksum in docs/verify.mjs.sha256 (else run node .ci/verifier.mjs), in any folder", async () => {
    const { sha256Hex, inputs } = await hashVerifier(process.cwd());
    expect(read(verifierHashFile)).toBe(encodeVerifierHash(sha256Hex));
    const folder = mkdtempSync(path.join(tmpdir(), "countersign-elsewhere-"));
    try {
      const places = inputs.map((file) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0]);
      const manifests = [...new Set(places)].filter(Boolean).map((place) => `${place}/package.json`);
      for (const file of [...inputs, ...manifests, "package.json", "tsconfig.json"])
        cpSync(file, path.join(folder, file), { recursive: true });
      expect((await hashVerifier(folder)).sha256Hex).toBe(sha256Hex);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
