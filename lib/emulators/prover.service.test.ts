/** The prover's process: proofs that share work are each valid for their own request, and one that ends is replaced. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { semaphoreKeyFor } from "#lib/protocol/world-id/world-id-keys";
import { externalNullifier } from "#lib/protocol/world-id/world-id-proof";
import { checkProofV3 } from "#lib/verifier/checks/check-world-proof";
import { locateProver } from "./development-modules";
import { createProver } from "./prover";
import { testHumans, treeRoot } from "./test-humans";

const folder = mkdtempSync(path.join(os.tmpdir(), "countersign-prover-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const [ada] = testHumans;
if (!ada) throw new Error("there are five");
const appId = "app_prover_test";

describe("the prover", () => {
  it("makes a valid proof for each request of a human, from what it has of the one before", async () => {
    const prove = createProver();
    const first = { human: ada, level: "orb", action: "a", signalHash: 1n } as const;
    const requests = [first, { ...first, action: "b" }, { ...first, signalHash: 2n }, first] as const;
    for (const { human, level, action, signalHash } of requests) {
      const made = await prove({
        human,
        level,
        signalHash,
        externalNullifier: externalNullifier(appId, action),
      });
      expect(BigInt(made.merkle_root)).toBe(treeRoot(level));
      const proof = { ...made, protocol_version: "3.0", app_id: appId, rp_id: "", nonce: "", level } as const;
      const check = (hash: bigint) => checkProofV3(proof, action, hash, semaphoreKeyFor("local"));
      expect(check(signalHash)).toEqual({ ok: true });
      expect(check(signalHash + 1n)).toMatchObject({ ok: false });
    }
  });

  it("fails a proof whose process ends, and starts another for the next", async () => {
    const program = path.join(folder, "prover.mjs");
    const prove = createProver(() => ({ ...locateProver(), program }));
    const request = { human: ada, level: "orb", externalNullifier: 1n, signalHash: 1n } as const;
    writeFileSync(program, "process.on('message', () => process.exit(3));");
    await expect(prove(request)).rejects.toMatchObject({ cause: new Error("it ended with 3") });
    const proof = {
      pi_a: [1, 1, 1],
      pi_b: [
        [1, 1],
        [1, 1],
        [1, 1],
      ],
      pi_c: [1, 1, 1],
    };
    const answer = { proof, publicSignals: [7, 8, 9, 10] };
    const text = JSON.stringify(answer).replaceAll(/\d+/g, '"$&"');
    writeFileSync(program, `process.on('message', () => process.send(${text}));`);
    expect(BigInt((await prove(request)).nullifier_hash)).toBe(8n);
  });
});
