/** Follows an agent's record off the main thread, so that the page stays usable however long the record is. */
import type { RecordReport } from "#lib/verifier/checks/check-record";

export interface RecordJob {
  readonly slug: string;
  /** See RecordRequest of lib/verifier/checks/check-record.ts. */
  readonly sumUpTo: number;
}

export type RecordMessage =
  | { readonly kind: "progress"; readonly checked: number; readonly total: number }
  | { readonly kind: "done"; readonly report: RecordReport }
  | { readonly kind: "failed"; readonly problem: string };

/** Returns the function that ends it. The last message is `done` or `failed`. */
export function followRecord(job: RecordJob, onMessage: (message: RecordMessage) => void): () => void {
  const worker = new Worker(new URL("./record-worker.tsx", import.meta.url), { type: "module" });
  worker.onmessage = ({ data }: MessageEvent<RecordMessage>) => {
    onMessage(data);
    if (data.kind !== "progress") worker.terminate();
  };
  worker.onerror = () => onMessage({ kind: "failed", problem: "the verifier couldn't be loaded" });
  worker.postMessage(job);
  return () => worker.terminate();
}
