/**
 * `npm run --silent sbom`: prints the bill of materials of what may run in production, as CycloneDX 1.5, from
 * package-lock.json. The same lockfile gives the same bytes. (npm's own `npm sbom --omit dev` leaves out packages that
 * development packages use too, React and zod among them.)
 */
import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { listLicenses, nameOf, readLockedPackages } from "./licenses.mjs";

/** As the package URL specification spells npm's names. */
const purlOf = (name, version) => `pkg:npm/${name.replace(/^@/, "%40")}@${encodeURIComponent(version)}`;

const spdxNames = /^[\w.-]+$/;
const licenseOf = (license) =>
  spdxNames.test(license) ? { license: { id: license } } : { expression: license };

function hashesOf(integrity) {
  const [, base64] = /^sha512-(.+)$/.exec(integrity ?? "") ?? [];
  const content = Buffer.from(base64 ?? "", "base64").toString("hex");
  return base64 === undefined ? [] : [{ alg: "SHA-512", content }];
}

function describe({ name, version, license, integrity }) {
  const purl = purlOf(name, version);
  const named = spdxNames.test(license) || license.includes(" ") ? [licenseOf(license)] : [];
  return {
    type: "library",
    "bom-ref": purl,
    name,
    version,
    licenses: named,
    purl,
    hashes: hashesOf(integrity),
  };
}

/** Where the package at `from` finds `name`, searched as node does; undefined if it is not installed. */
function find(packages, from, name) {
  const place = `${from ? `${from}/` : ""}node_modules/${name}`;
  if (packages[place]) return place;
  if (from === "") return undefined;
  return find(packages, from.slice(0, Math.max(0, from.lastIndexOf("/node_modules/"))), name);
}

function dependenciesOf(packages, place) {
  const { dependencies, optionalDependencies, peerDependencies } = packages[place];
  const names = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies });
  const found = names.map((name) => find(packages, place, name)).filter((one) => one && !packages[one].dev);
  return [...new Set(found.map((one) => purlOf(nameOf(one), packages[one].version)))].sort();
}

/** `packages`: those of a lockfile. */
export function encodeSbom(packages) {
  const { name, version, license } = packages[""];
  const self = purlOf(name, version);
  const places = Object.keys(packages).filter((place) => place !== "" && !packages[place].dev);
  const integrity = new Map(
    places.map((place) => [`${nameOf(place)}@${packages[place].version}`, packages[place].integrity]),
  );
  const components = listLicenses(packages).map((row) =>
    describe({ ...row, integrity: integrity.get(`${row.name}@${row.version}`) }),
  );
  const graph = new Map([[self, new Set(dependenciesOf(packages, ""))]]);
  for (const place of places) {
    const ref = purlOf(nameOf(place), packages[place].version);
    graph.set(ref, new Set([...(graph.get(ref) ?? []), ...dependenciesOf(packages, place)]));
  }
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: {
      component: {
        type: "application",
        "bom-ref": self,
        name,
        version,
        licenses: [licenseOf(license)],
        purl: self,
      },
    },
    components,
    dependencies: [...graph].map(([ref, uses]) => ({ ref, dependsOn: [...uses] })),
  };
}

const [, program = ""] = process.argv;
if (program !== "" && realpathSync(program) === fileURLToPath(import.meta.url))
  process.stdout.write(`${JSON.stringify(encodeSbom(readLockedPackages()), null, 2)}\n`);
