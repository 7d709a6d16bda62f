/**
 * Real Groth16 proofs of the Semaphore circuit at depth 16, about 1.5 s each, in a process of their own, so that the
 * server goes on answering. Not a thread: snarkjs's own worker library takes any thread for one of its workers. The
 * program is a string because Vitest, Next and esbuild each put modules in another place.
 */
import { execFile } from "node:child_process";
import { z } from "zod";
import { parseWord, wordHex } from "#lib/domain/world-id-proof";
import { locateProver } from "./development-modules";
import { type LocalLevel, type TestHuman, treeWitness } from "./test-humans";

const MAX_WAITING = 8;
const PROVER_TIMEOUT_MS = 60_000;

const program = `
const { snarkjs, wasm, zkey, input } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
require(snarkjs).groth16
  .fullProve(input, wasm, zkey, undefined, undefined, { singleThread: true })
  .then((result) => process.stdout.write(JSON.stringify(result), () => process.exit(0)));
`;

export interface ProofRequest {
  human: TestHuman;
  level: LocalLevel;
  externalNullifier: bigint;
  signalHash: bigint;
}

/** In the wallet's v3 reply's own form. */
export interface WalletProof {
  proof: string;
  merkle_root: string;
  nullifier_hash: string;
}

export type Prover = (request: ProofRequest) => Promise<WalletProof>;

export class ProverBusyError extends Error {}

/** One proof at a time; throws ProverBusyError when too many wait, and Error without the development modules. */
export function createProver(): Prover {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  return async (request) => {
    if (waiting >= MAX_WAITING) throw new ProverBusyError("too many proofs are being made");
    waiting += 1;
    const mine = last.then(() => prove(request));
    last = mine.catch(() => undefined);
    try {
      return await mine;
    } finally {
      waiting -= 1;
    }
  };
}

async function prove({ human, level, externalNullifier, signalHash }: ProofRequest): Promise<WalletProof> {
  const input = { ...treeWitness(human, level), externalNullifier, signalHash };
  const result = await runProver({ ...locateProver(), input });
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

/** Numbers go in and out as decimal strings; none of the server's environment goes with them. */
function runProver(task: object): Promise<unknown> {
  const text = JSON.stringify(task, (_, value) => (typeof value === "bigint" ? String(value) : value));
  return new Promise((resolve, reject) => {
    const options = { env: { NODE_ENV: "production" as const }, timeout: PROVER_TIMEOUT_MS };
    const child = execFile(process.execPath, ["-e", program], options, (error, stdout) => {
      if (error !== null) reject(new Error("the prover failed", { cause: error }));
      else resolve(JSON.parse(stdout));
    });
    child.stdin?.on("error", reject);
    child.stdin?.end(text);
  });
}
