/**
 * `npm run --silent sbom`: prints the bill of materials of what may run in production, as CycloneDX. It is npm's own, made
 * of a manifest and lockfile without development packages, because `npm sbom --omit dev` leaves out what development
 * packages use too (React and zod among them). The same lockfile gives the same bytes.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { listLicenses } from "./licenses.mjs";
import { listProduction, listProductionNames } from "./production.mjs";
import { root } from "./step.mjs";

const read = (file) => JSON.parse(readFileSync(path.join(root, file), "utf8"));

function writeProduction(folder) {
  const { devDependencies, ...manifest } = read("package.json");
  const lock = read("package-lock.json");
  const production = listProduction(lock.packages);
  for (const place of Object.keys(lock.packages)) {
    if (place !== "" && !production.has(place)) delete lock.packages[place];
    else delete lock.packages[place].dev;
  }
  const versions = { ...manifest.dependencies, ...devDependencies };
  manifest.dependencies = Object.fromEntries(
    listProductionNames(lock.packages[""]).map((name) => [name, versions[name]]),
  );
  delete lock.packages[""].devDependencies;
  lock.packages[""].dependencies = manifest.dependencies;
  writeFileSync(path.join(folder, "package.json"), JSON.stringify(manifest));
  writeFileSync(path.join(folder, "package-lock.json"), JSON.stringify(lock));
  return lock.packages;
}

/** npm says nothing where a package's metadata names no SPDX licence. */
function addLicenses(components, packages) {
  const known = new Map(
    listLicenses(packages).map(({ name, version, license }) => [`${name}@${version}`, license]),
  );
  for (const component of components)
    component.licenses ??= [{ license: { id: known.get(component["bom-ref"]) } }];
}

export function makeSbom() {
  const scratch = mkdtempSync(path.join(tmpdir(), "countersign-sbom-"));
  try {
    // npm names what it describes after its folder.
    const folder = path.join(scratch, "countersign");
    mkdirSync(folder);
    const packages = writeProduction(folder);
    const args = ["sbom", "--package-lock-only", "--sbom-format=cyclonedx", "--sbom-type=application"];
    const bom = JSON.parse(execFileSync("npm", args, { cwd: folder, encoding: "utf8", stdio: "pipe" }));
    addLicenses(bom.components, packages);
    delete bom.serialNumber;
    delete bom.metadata.timestamp;
    return bom;
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

const [, program = ""] = process.argv;
if (program !== "" && realpathSync(program) === fileURLToPath(import.meta.url))
  process.stdout.write(`${JSON.stringify(makeSbom(), null, 2)}\n`);
