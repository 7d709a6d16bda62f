/** The worker of run-worker.tsx: one job, one result. The pairing checks are chunks that load only when they run. */
import { verifyInBrowser } from "#lib/verifier/browser";
import type { VerificationJob, VerificationResult } from "./run-worker";

async function run({ input, trust, expected }: VerificationJob): Promise<VerificationResult> {
  try {
    return { ok: true, report: await verifyInBrowser(input, trust, expected) };
  } catch (error) {
    return { ok: false, problem: error instanceof Error ? error.message : "the verifier failed" };
  }
}

self.onmessage = ({ data }: MessageEvent<VerificationJob>) => {
  void run(data).then((result) => self.postMessage(result));
};
