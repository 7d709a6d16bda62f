/**
 * Lists the licences of all packages that may run in production, from package-lock.json, and refuses those that are not
 * allowed: GPL and AGPL above all, and what names none.
 *
 *   npm run licenses             writes docs/licenses.md
 *   npm run licenses -- --check  changes nothing; exit code 1 if a licence is not allowed or the file is of other packages
 */
import { readFileSync, realpathSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { listProduction } from "./production.mjs";
import { root } from "./step.mjs";

const allowed = new Set([
  "0BSD",
  "Apache-2.0",
  "BlueOak-1.0.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "CC-BY-4.0",
  "CC0-1.0",
  "ISC",
  "MIT",
  "MIT-0",
  "OFL-1.1",
  "Unlicense",
]);

/** Packages whose metadata (`says`) is not enough, or whose licence needs a reason. What says anything else is judged as all are. */
const exceptions = [
  {
    name: /^@next\/swc-/,
    says: undefined,
    license: "MIT",
    reason: "part of Next; the lockfile names no licence for other platforms",
  },
  {
    name: /^png-js$/,
    says: undefined,
    license: "MIT",
    reason: "its LICENSE is the text of MIT; the metadata names none",
  },
];

const nameOf = (place) => place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length);

/** Reads an SPDX expression without nesting, as npm's packages have them: every AND must hold, and one of each OR. */
function isAllowed(expression) {
  const all = expression.replace(/^\((.*)\)$/, "$1").split(" AND ");
  return all.every((part) => part.split(" OR ").some((license) => allowed.has(license)));
}

function describe(place, { name: alias, version, license }) {
  const name = alias ?? nameOf(place);
  const exception = exceptions.find((one) => one.name.test(name) && one.says === license);
  const isFine = exception !== undefined || (typeof license === "string" && isAllowed(license));
  return {
    name,
    version,
    license: exception?.license ?? license ?? "none named",
    reason: exception?.reason,
    isFine,
  };
}

/** `packages`: those of a lockfile. Development packages are left out. */
export function listLicenses(packages) {
  const rows = [...listProduction(packages)].map((place) => describe(place, packages[place]));
  const unique = new Map(rows.map((row) => [`${row.name}@${row.version}`, row]));
  return [...unique.values()].sort((a, b) => a.name.localeCompare(b.name, "en"));
}

export function encodeLicenses(rows) {
  const lines = rows.map(
    ({ name, version, license, reason }) =>
      `| ${name} | ${version} | ${license}${reason ? ` (${reason})` : ""} |`,
  );
  return [
    "# Licences of the packages that may run in production",
    "",
    "Written by `npm run licenses`, which refuses GPL, AGPL and packages without a licence.",
    "",
    "| package | version | licence |",
    "| --- | --- | --- |",
    ...lines,
    "",
  ].join("\n");
}

export const readLockedPackages = () =>
  JSON.parse(readFileSync(path.join(root, "package-lock.json"), "utf8")).packages;

function main(isCheck) {
  const file = path.join(root, "docs/licenses.md");
  const rows = listLicenses(readLockedPackages());
  const refused = rows.filter(({ isFine }) => !isFine);
  for (const { name, version, license } of refused)
    console.error(`${name}@${version}: ${license} is not allowed`);
  const text = encodeLicenses(rows);
  if (!isCheck) writeFileSync(file, text);
  const isCurrent = readFileSync(file, "utf8") === text;
  if (!isCurrent)
    console.error("docs/licenses.md lists other packages: run npm run licenses and commit the file");
  process.exitCode = refused.length === 0 && isCurrent ? 0 : 1;
}

const [, program = "", ...args] = process.argv;
if (program !== "" && realpathSync(program) === fileURLToPath(import.meta.url))
  main(args.includes("--check"));
