/** Runs a verification off the main thread, so that the page stays usable while pairings are computed. */

import type { Expectation } from "#lib/verifier/checks/verify-evidence";
import type { VerifierReport } from "#lib/verifier/report/report";

export interface VerificationJob {
  /** Text of the evidence. */
  readonly input: string;
  /** Text of GET /v1/pubkey, or of a file in its form. */
  readonly trust: string;
  readonly expected?: Expectation;
}

export type VerificationResult =
  | { readonly ok: true; readonly report: VerifierReport }
  | { readonly ok: false; readonly problem: string };

/** Rejects with a message for people if the evidence cannot be read or the worker cannot run. */
export function verifyInWorker(job: VerificationJob): Promise<VerifierReport> {
  const worker = new Worker(new URL("./verify-worker.tsx", import.meta.url), { type: "module" });
  return new Promise<VerifierReport>((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<VerificationResult>) =>
      data.ok ? resolve(data.report) : reject(new Error(data.problem));
    worker.onerror = () => reject(new Error("the verifier couldn't be loaded"));
    worker.postMessage(job);
  }).finally(() => worker.terminate());
}
