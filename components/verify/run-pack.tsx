/** Checks an evidence pack off the main thread; the file stays in this browser. */
import type { PackFacts } from "#lib/protocol/pack/pack-manifest";
import type { PackCheck } from "#lib/protocol/pack/pack-reasons";
import type { PackRow, PackSum } from "#lib/protocol/pack/pack-rows";
import type { PackReport } from "#lib/verifier/pack/check-pack";

export interface PackJob {
  readonly file: File;
  /** Text of GET /v1/pubkey, or of a file in its form. */
  readonly trust: string;
  /** `verify.mjs` as this service publishes it, to compare the pack's with; null if it can't be fetched. */
  readonly program: ArrayBuffer | null;
}

export interface CheckedPack {
  readonly verdict: PackReport["verdict"];
  readonly sentence: string;
  readonly checks: readonly PackCheck[];
  readonly warnings: readonly string[];
  readonly agents: readonly PackFacts[];
  readonly rows: readonly PackRow[];
  readonly sums: readonly PackSum[];
  readonly notProven: readonly string[];
  /** `report.csv` of the pack; null if a check failed, and for packs of version 1, which have none. */
  readonly csv: string | null;
  /** `report.html`, byte for byte the one that follows from the files; null if a check failed. */
  readonly html: string | null;
}

export type PackAnswer =
  | { readonly kind: "progress"; readonly done: number; readonly total: number }
  | { readonly kind: "checked"; readonly checked: CheckedPack }
  | { readonly kind: "failed"; readonly problem: string };

export interface PackRun {
  /** Rejects with a message for people if the pack can't be read or the worker can't run. */
  readonly checked: Promise<CheckedPack>;
  stop(): void;
}

async function fetchProgram(): Promise<ArrayBuffer | null> {
  const response = await fetch("/verify.mjs").catch(() => null);
  return response?.ok ? response.arrayBuffer() : null;
}

export function checkInWorker(
  file: File,
  trust: string,
  onProgress: (done: number, total: number) => void,
): PackRun {
  const worker = new Worker(new URL("./pack-worker.tsx", import.meta.url), { type: "module" });
  const checked = new Promise<CheckedPack>((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<PackAnswer>) => {
      if (data.kind === "progress") onProgress(data.done, data.total);
      else if (data.kind === "checked") resolve(data.checked);
      else reject(new Error(data.problem));
    };
    worker.onerror = () => reject(new Error("the verifier couldn't be loaded"));
    fetchProgram().then((program) => worker.postMessage({ file, trust, program } satisfies PackJob), reject);
  }).finally(() => worker.terminate());
  return { checked, stop: () => worker.terminate() };
}
