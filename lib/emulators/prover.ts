/**
 * Real Groth16 proofs of the Semaphore circuit at depth 16, in a process of their own (./prover-process.ts), so that
 * the server keeps answering: two seconds for a human's first, less than one for the others. The process starts with
 * the first proof and ends after a minute without work.
 */

import { accessSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { z } from "zod";
import { type Child, createChild } from "#lib/jobs/child-process";
import { utf8Encode } from "#lib/protocol/encoding/bytes";
import { hashToField, parseWord, wordHex } from "#lib/protocol/world-id/world-id-proof";

/* The prover and its artifacts are GPL and for development only: none is imported by name, or bundlers would look for it. */
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

/* Test humans and the two trees they are in: their secrets are public constants, so their approvals say nothing about a person. */
const TREE_DEPTH = 16;
export type LocalLevel = "device" | "orb";

export interface TestHuman {
  id: string;
  name: string;
  levels: readonly LocalLevel[];
}

export const testHumans: readonly TestHuman[] = [
  { id: "ada", name: "Ada", levels: ["orb", "device"] },
  { id: "grace", name: "Grace", levels: ["orb", "device"] },
  { id: "hedy", name: "Hedy", levels: ["orb", "device"] },
  { id: "alan", name: "Alan", levels: ["device"] },
  { id: "emmy", name: "Emmy", levels: ["device"] },
];

interface Identity {
  trapdoor: bigint;
  nullifier: bigint;
}

export interface TreeWitness {
  identityTrapdoor: bigint;
  identityNullifier: bigint;
  /** 0 if the node on the path is the left one. */
  treePathIndices: number[];
  treeSiblings: bigint[];
}

function deriveIdentity(human: TestHuman): Identity {
  return {
    trapdoor: hashToField(utf8Encode(`Countersign test human ${human.id}: trapdoor`)),
    nullifier: hashToField(utf8Encode(`Countersign test human ${human.id}: nullifier`)),
  };
}

function listHumans(level: LocalLevel): TestHuman[] {
  return testHumans.filter((human) => human.levels.includes(level));
}

/** Leaves are Semaphore commitments, empty places zero; the nodes of every level but the empty ones. */
function buildTree(level: LocalLevel): { levels: bigint[][]; zeros: bigint[] } {
  const { poseidon1, poseidon2 } = loadPoseidon();
  const zeros = [0n];
  for (let depth = 0; depth < TREE_DEPTH; depth += 1)
    zeros.push(poseidon2([zeros[depth] ?? 0n, zeros[depth] ?? 0n]));
  const leaves = listHumans(level).map((human) => {
    const { nullifier, trapdoor } = deriveIdentity(human);
    return poseidon1([poseidon2([nullifier, trapdoor])]);
  });
  const levels = [leaves];
  for (let depth = 0; depth < TREE_DEPTH; depth += 1) {
    const below = levels[depth] ?? [];
    const zero = zeros[depth] ?? 0n;
    const parents = Array.from({ length: Math.ceil(below.length / 2) }, (_, i) =>
      poseidon2([below[2 * i] ?? zero, below[2 * i + 1] ?? zero]),
    );
    levels.push(parents);
  }
  return { levels, zeros };
}

export function treeRoot(level: LocalLevel): bigint {
  const root = buildTree(level).levels[TREE_DEPTH]?.[0];
  if (root === undefined) throw new RangeError("an empty tree has no root");
  return root;
}

/** Throws RangeError if the human has no such credential. */
function treeWitness(human: TestHuman, level: LocalLevel): TreeWitness {
  let index = listHumans(level).findIndex((member) => member.id === human.id);
  if (index < 0) throw new RangeError(`${human.name} is not in the ${level} tree`);
  const { levels, zeros } = buildTree(level);
  const treePathIndices: number[] = [];
  const treeSiblings: bigint[] = [];
  for (let depth = 0; depth < TREE_DEPTH; depth += 1) {
    treePathIndices.push(index & 1);
    treeSiblings.push(levels[depth]?.[index ^ 1] ?? zeros[depth] ?? 0n);
    index >>= 1;
  }
  const { trapdoor, nullifier } = deriveIdentity(human);
  return { identityTrapdoor: trapdoor, identityNullifier: nullifier, treePathIndices, treeSiblings };
}

const MAX_WAITING = 8;
const PROVER_TIMEOUT_MS = 60_000;
const IDLE_MS = 60_000;

export interface ProofRequest {
  human: TestHuman;
  level: LocalLevel;
  externalNullifier: bigint;
  signalHash: bigint;
}

export interface WalletProof {
  proof: string;
  merkle_root: string;
  nullifier_hash: string;
}

export type Prover = (request: ProofRequest) => Promise<WalletProof>;

export class ProverBusyError extends Error {}

export interface ProverTask extends Omit<ProverFiles, "program"> {
  /** Person and credential: proofs of the same have most of the work in common. */
  owner: string;
  input: TreeWitness & Pick<ProofRequest, "externalNullifier" | "signalHash">;
}

type Runner = (program: string, task: ProverTask) => Promise<unknown>;

/** Makes one proof at a time; throws ProverBusyError when too many wait, and Error without the development modules. */
export function createProver(): Prover {
  let child: Child | undefined;
  const run: Runner = (program, task) => {
    child ??= createChild({ program, idleMs: IDLE_MS, startMs: 0, serialization: "advanced" });
    return child.run(task, PROVER_TIMEOUT_MS).catch((cause) => {
      throw new Error("the prover failed", { cause });
    });
  };
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  return async (request) => {
    if (waiting >= MAX_WAITING) throw new ProverBusyError("too many proofs are being made");
    waiting += 1;
    const mine = last.then(() => prove(request, locateProver(), run));
    last = mine.catch(() => undefined);
    try {
      return await mine;
    } finally {
      waiting -= 1;
    }
  };
}

async function prove(request: ProofRequest, files: ProverFiles, run: Runner): Promise<WalletProof> {
  const { human, level, externalNullifier, signalHash } = request;
  const { program, ...artifacts } = files;
  const input = { ...treeWitness(human, level), externalNullifier, signalHash };
  const result = await run(program, { ...artifacts, owner: `${human.id} ${level}`, input });
  const { proof, publicSignals } = proverResult.parse(result);
  const [root, nullifier] = publicSignals;
  const [ax, ay] = proof.pi_a;
  const [[bx0, bx1], [by0, by1]] = proof.pi_b;
  const [cx, cy] = proof.pi_c;
  const words = [ax, ay, bx1, bx0, by1, by0, cx, cy].map((word) => word.slice(2));
  return { proof: `0x${words.join("")}`, merkle_root: root, nullifier_hash: nullifier };
}

const decimal = z.string().transform((text, context) => {
  const value = parseWord(text);
  if (value !== undefined) return wordHex(value);
  context.addIssue("not a number");
  return z.NEVER;
});
const proverResult = z.object({
  proof: z.object({
    pi_a: z.tuple([decimal, decimal, decimal]),
    pi_b: z.tuple([z.tuple([decimal, decimal]), z.tuple([decimal, decimal]), z.tuple([decimal, decimal])]),
    pi_c: z.tuple([decimal, decimal, decimal]),
  }),
  publicSignals: z.tuple([decimal, decimal, decimal, decimal]),
});
