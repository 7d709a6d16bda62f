/** What we build from: exact versions, licences that may be passed on, and a verifier that anyone can build again. */
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { encodeLicenses, listLicenses, readLockedPackages } from "#ci/licenses";
import { makeSbom } from "#ci/sbom";
import { encodeVerifierHash, hashVerifier, verifierHashFile } from "#ci/verifier";

const read = (file: string) => readFileSync(file, "utf8");
const manifest = JSON.parse(read("package.json"));
const refusedOf = (packages: object) =>
  listLicenses(packages)
    .filter(({ isFine }) => !isFine)
    .map(({ name }) => name);

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
    expect(refusedOf({ "node_modules/planted": { version: "1.0.0", license } })).toEqual(["planted"]);
  });

  it("a choice is enough, development packages don't count, and an exception covers what it names only", () => {
    const entry = (license: string, dev = false) => ({ version: "1.0.0", license, dev });
    expect(refusedOf({ "node_modules/a": entry("(MIT OR GPL-3.0-or-later)") })).toEqual([]);
    expect(refusedOf({ "node_modules/a": entry("GPL-3.0-only", true) })).toEqual([]);
    expect(refusedOf({ "node_modules/x/node_modules/color-convert": entry("GPL-3.0-only") })).toEqual([
      "color-convert",
    ]);
    expect(refusedOf({ "node_modules/@img/sharp-libvips-linux-x64": entry("GPL-3.0-only") })).toHaveLength(1);
  });
});

describe("the bill of materials", () => {
  it("lists in CycloneDX what runs in production and what uses what, without development packages", () => {
    const { bomFormat, components, dependencies } = makeSbom();
    expect(bomFormat).toBe("CycloneDX");
    const versions = new Map(components.map(({ name, version }) => [name, version]));
    for (const [name, version] of Object.entries(manifest.dependencies))
      expect(versions.get(name)).toBe(version);
    expect(versions.has("vitest")).toBe(false);
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
