/**
 * The worker of run-pack.tsx: one evidence pack, checked with the code of the offline verifier, and then made into words.
 * Of a large pack it starts itself again for each further processor, to read entries.
 */
import { utf8Decode } from "#lib/protocol/encoding/bytes";
import { crc32, inflateInBrowser, readInWindows } from "#lib/protocol/encoding/zip";
import { listNotProven, sumAgents } from "#lib/protocol/pack/pack-report";
import type { PackRow } from "#lib/protocol/pack/pack-rows";
import { parseTrust, type VerifierTrust } from "#lib/verifier/checks/trust";
import { checkPack, explainVerdict, listWarnings } from "#lib/verifier/pack/check-pack";
import {
  askThread,
  createPartReader,
  type PartRequest,
  type ReadPart,
  readInThreads,
} from "#lib/verifier/pack/read-entry";
import type { PackAnswer, PackJob } from "./run-pack";

/** A message for each entry would keep the page from drawing. */
const progressMs = 100;

const tell = (answer: PackAnswer) => self.postMessage(answer);

/** Threads each hold the verifier in memory. */
const maxThreads = 8;
const tools = { inflate: inflateInBrowser, crc32 };

const openFile = (file: File) =>
  readInWindows(
    file.size,
    async (offset, length) => new Uint8Array(await file.slice(offset, offset + length).arrayBuffer()),
  );

/** First message to such a thread, before its {@link PartRequest}s. */
interface ThreadJob {
  readonly source: File;
  readonly keys: VerifierTrust;
}

function startThread(file: File, keys: VerifierTrust) {
  const worker = new Worker(self.location.href);
  const thread = askThread<PartRequest, ReadPart>(
    (request) => worker.postMessage(request),
    () => worker.terminate(),
  );
  worker.onmessage = ({ data }: MessageEvent<ReadPart>) => thread.onAnswer(data);
  worker.onerror = () => thread.onFailure(new Error("a thread of the verifier couldn't be loaded"));
  worker.postMessage({ source: file, keys } satisfies ThreadJob);
  return thread;
}

function serveEntries({ source, keys }: ThreadJob): void {
  const readPart = createPartReader(openFile(source), tools, keys);
  // Serializes parts: one is answered before the next is read.
  let last = Promise.resolve();
  self.onmessage = ({ data: { files, style } }: MessageEvent<PartRequest>) => {
    last = last.then(async () => self.postMessage(await readPart(files, style)));
  };
}

async function run({ file, trust, program }: PackJob): Promise<PackAnswer> {
  let toldAt = 0;
  const onProgress = (done: number, total: number) => {
    if (performance.now() - toldAt < progressMs) return;
    toldAt = performance.now();
    tell({ kind: "progress", done, total });
  };
  const rows: PackRow[] = [];
  const processors = typeof Worker === "undefined" ? 1 : Math.min(maxThreads, navigator.hardwareConcurrency);
  const report = await checkPack(openFile(file), {
    tools,
    trust: parseTrust(trust),
    program: program === null ? null : new Uint8Array(program),
    onProgress,
    onRows: (more) => rows.push(...more),
    openReaders: readInThreads(processors, (_, keys) => startThread(file, keys), tools),
  });
  const { agents, checks, verdict, html, csv } = report;
  return {
    kind: "checked",
    checked: {
      verdict,
      sentence: explainVerdict(report),
      checks,
      warnings: listWarnings(report),
      agents: agents.map(({ facts }) => facts),
      rows: agents.length === 0 ? [] : rows,
      sums: sumAgents(agents),
      notProven: listNotProven(agents.map(({ facts }) => facts)),
      csv: csv === null ? null : utf8Decode(csv),
      html: html === null ? null : utf8Decode(html),
    },
  };
}

self.onmessage = ({ data }: MessageEvent<PackJob | ThreadJob>) => {
  if ("keys" in data) return serveEntries(data);
  run(data).then(tell, (error: unknown) =>
    tell({ kind: "failed", problem: error instanceof Error ? error.message : "the verifier failed" }),
  );
};
