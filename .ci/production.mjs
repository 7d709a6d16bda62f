/**
 * Packages that may run in production. `npm start` also installs build tools and the World ID stand-in's prover, and leaves out
 * the SDKs of services that only a setting asks for (LOG_STORE=s3://…, a KMS's key).
 *
 *   node .ci/production.mjs providers   adds these SDKs, in the versions of package.json (npm run providers)
 *   node .ci/production.mjs prune       removes everything that doesn't run in production (Dockerfile)
 */
import { existsSync, readFileSync, realpathSync, rmSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { root, runStep } from "./step.mjs";

const providers = ["@aws-sdk/client-kms", "@aws-sdk/client-s3", "google-auth-library"];

/** Build tools that are in package.json's dependencies because `npm start` needs them. */
const buildOnly = [
  "@pcd/semaphore-group-pcd",
  "@tailwindcss/postcss",
  "@types/node",
  "@types/react",
  "@types/react-dom",
  "@types/sodium-native",
  "esbuild",
  "patch-package",
  "poseidon-lite",
  "smol-toml",
  "snarkjs",
  "tailwindcss",
  "typescript",
];

const readJson = (file) => JSON.parse(readFileSync(path.join(root, file), "utf8"));

export function listProductionNames({ dependencies }) {
  return [...Object.keys(dependencies).filter((name) => !buildOnly.includes(name)), ...providers];
}

/** The place in a lockfile's `packages` where a package finds another one: its own node_modules first. */
function findPlace(packages, from, name) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")))) {
    const place = `${folder}${folder ? "/" : ""}node_modules/${name}`;
    if (place in packages) return place;
    if (folder === "" || !folder.includes("/node_modules/")) {
      const top = `node_modules/${name}`;
      return top in packages ? top : undefined;
    }
  }
}

/** The places in a lockfile's `packages` of all that may run in production. */
export function listProduction(packages) {
  const places = new Set();
  const add = (from, names) => {
    for (const name of names) {
      const place = findPlace(packages, from, name);
      if (place === undefined || places.has(place)) continue;
      places.add(place);
      const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = packages[place];
      const peers = Object.keys(peerDependencies ?? {}).filter(
        (peer) => !peerDependenciesMeta?.[peer]?.optional,
      );
      add(place, [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers]);
    }
  };
  add("", listProductionNames(packages[""]));
  return places;
}

function installProviders() {
  const { devDependencies } = readJson("package.json");
  const missing = providers.filter((name) => !existsSync(path.join(root, "node_modules", name)));
  const wanted = missing.map((name) => `${name}@${devDependencies[name]}`);
  const flags = ["--no-save", "--save-prod", "--omit=dev", "--ignore-scripts", "--loglevel=error"];
  if (wanted.length > 0) runStep("install", "npm", ["install", ...flags, ...wanted]);
}

function prune() {
  const { packages } = readJson("package-lock.json");
  const production = listProduction(packages);
  for (const place of Object.keys(packages))
    if (place !== "" && !production.has(place))
      rmSync(path.join(root, place), { recursive: true, force: true });
}

const [, program = "", verb] = process.argv;
if (program !== "" && realpathSync(program) === fileURLToPath(import.meta.url)) {
  if (verb === "providers") installProviders();
  else if (verb === "prune") prune();
  else {
    console.error("usage: node .ci/production.mjs providers | prune");
    process.exit(2);
  }
}
