/**
 * The prover and its artifacts are GPL and only for development, so nothing here is imported by name: a
 * production install has none of them, and the bundlers must not look for them.
 */
import { accessSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

type Poseidon = (inputs: bigint[]) => bigint;

export interface ProverFiles {
  program: string;
  snarkjs: string;
  wasm: string;
  zkey: string;
}

/** The server is started in the folder of its package.json; the bundle's own place says nothing. */
const requireFromRoot = createRequire(path.join(process.cwd(), "package.json"));

function load<T>(get: () => T): T {
  try {
    return get();
  } catch (cause) {
    throw new Error(
      "The local World ID stand-in needs the packages snarkjs, @pcd/semaphore-group-pcd and poseidon-lite: run npm ci, or set WORLD_APP_ID, WORLD_RP_ID and WORLD_RP_SIGNING_KEY",
      { cause },
    );
  }
}

export function loadPoseidon(): { poseidon1: Poseidon; poseidon2: Poseidon } {
  return load(() => requireFromRoot("poseidon-lite") as { poseidon1: Poseidon; poseidon2: Poseidon });
}

/** The ceremony's own circuit and key for depth 16, which the package does not export by name. */
export function locateProver(): ProverFiles {
  return load(() => ({
    program: locate("dist/prover.mjs"),
    snarkjs: requireFromRoot.resolve("snarkjs"),
    wasm: locate("node_modules/@pcd/semaphore-group-pcd/artifacts/16.wasm"),
    zkey: locate("node_modules/@pcd/semaphore-group-pcd/artifacts/16.zkey"),
  }));
}

function locate(file: string): string {
  const place = path.resolve(/* turbopackIgnore: true */ process.cwd(), file);
  accessSync(place);
  return place;
}
