/**
 * Real Groth16 proofs of the Semaphore circuit at depth 16, in a process of their own (./prover-process.ts), so that
 * the server keeps answering: two seconds for a human's first, less than one for the others. The process starts with
 * the first proof and ends after a minute without work.
 */
import { z } from "zod";
import { type Child, createChild } from "#lib/jobs/child-process";
import { parseWord, wordHex } from "#lib/protocol/world-id/world-id-proof";
import { locateProver, type ProverFiles } from "./development-modules";
import { type LocalLevel, type TestHuman, type TreeWitness, treeWitness } from "./test-humans";

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

/** One proof at a time; throws ProverBusyError when too many wait, and Error without the development modules. */
export function createProver(files: () => ProverFiles = locateProver): Prover {
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
    const mine = last.then(() => prove(request, files(), run));
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
