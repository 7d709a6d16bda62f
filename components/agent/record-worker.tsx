/** The worker of run-record-check.tsx: it fetches the record and the keys, and runs the offline verifier's own code. */
import { checkRecord } from "#lib/verifier/checks/check-record";
import { parseTrust } from "#lib/verifier/checks/trust";
import type { RecordJob, RecordMessage } from "./run-record-check";

/** Limit on the whole run: a service may never want to end. */
const ended = AbortSignal.timeout(600_000);

const post = (message: RecordMessage) => self.postMessage(message);

async function ask(path: string): Promise<Response> {
  const response = await fetch(path, {
    cache: "no-store",
    headers: { Accept: "application/json" },
    signal: ended,
  });
  if (!response.ok) throw new Error(`${path} answered ${response.status}`);
  return response;
}

const fetchText = async (path: string) => (await ask(path)).text();

async function run({ slug, sumUpTo }: RecordJob): Promise<void> {
  const trust = parseTrust(await fetchText("/v1/pubkey"));
  const source = {
    readPage: (from: number) => fetchText(`/v1/agent/${encodeURIComponent(slug)}/record?from=${from}`),
    readAnswer: (id: string) => fetchText(`/v1/verify/${encodeURIComponent(id)}`),
    readRows: async (path: string) => new Uint8Array(await (await ask(path)).arrayBuffer()),
    readStatements: (from: number) => fetchText(`/v1/log/statements?from=${from}`),
  };
  const onProgress = (checked: number, total: number) => post({ kind: "progress", checked, total });
  const nowSeconds = Math.floor(Date.now() / 1_000);
  post({ kind: "done", report: await checkRecord(source, trust, { nowSeconds, slug, onProgress, sumUpTo }) });
}

self.onmessage = ({ data }: MessageEvent<RecordJob>) => {
  run(data).catch((error: unknown) =>
    post({ kind: "failed", problem: error instanceof Error ? error.message : "it could not be run" }),
  );
};
