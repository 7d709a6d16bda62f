/** `node verify.mjs`. Bundled into dist/verify.mjs. */
import "#lib/platform/node-wasm";
// biome-ignore lint/style/noRestrictedImports: threads are started here and nowhere else in this folder
import { availableParallelism } from "node:os";
// biome-ignore lint/style/noRestrictedImports: as above
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import type { VerifierTrust } from "#lib/verifier/checks/trust";
import {
  askThread,
  createPartReader,
  entriesPerThread,
  type OpenReaders,
  type PartRequest,
  type ReadPart,
  readInThreads,
  readWithVerifier,
} from "#lib/verifier/pack/read-entry";
import {
  collectGarbage,
  endIfUnread,
  nodeIo,
  readOpenFile,
  readProgramAt,
  startSignatureThread,
} from "./node-io";
import { runCommand } from "./run-command";

interface ThreadWork {
  /** File that the process has open, and so all its threads. */
  fd: number;
  size: number;
  trust: VerifierTrust;
}

/** True if this is such a thread: it reads what it is sent, and the program does nothing else. */
function servesEntries(): boolean {
  if (isMainThread) return false;
  const { fd, size, trust } = workerData as ThreadWork;
  const readPart = createPartReader(readOpenFile(fd, size), nodeIo.zip, trust);
  parentPort?.on("message", async ({ files, style }: PartRequest) =>
    parentPort?.postMessage(await readPart(files, style)),
  );
  return true;
}

/** Entries from which a second reader has earned its start: it is as fast then, and takes less memory. */
const entriesForReaders = 50_000;

/** `url`: of a module that is the whole program, and that calls {@link servesEntries} first. */
function readInNodeThreads(url: string): OpenReaders {
  const processors = availableParallelism();
  const inThreads = readInThreads(
    processors,
    ({ fd, size }, trust) => {
      // A larger heap would only be filled later: nothing that a thread reads is kept.
      const resourceLimits = { maxYoungGenerationSizeMb: 16 };
      const worker = new Worker(new URL(url), { workerData: { fd, size, trust }, resourceLimits });
      const thread = askThread<PartRequest, ReadPart>(
        (request) => worker.postMessage(request),
        () => void worker.terminate(),
      );
      worker.on("message", thread.onAnswer);
      worker.on("error", thread.onFailure);
      return thread;
    },
    nodeIo.zip,
  );
  const withVerifier = readWithVerifier(() => startSignatureThread(askThread), nodeIo.zip);
  return (...request) => {
    const [, , entries] = request;
    const isShort = entries >= entriesPerThread && entries < entriesForReaders;
    const open = processors === 2 && isShort ? withVerifier : inThreads;
    const readers = open(...request);
    const close = () => {
      readers.close();
      // Makes room for a large report, which takes as much as all that was kept of the entries.
      if (entries >= entriesForReaders) collectGarbage();
    };
    return { ...readers, close };
  };
}

const { url } = import.meta;

if (!servesEntries()) {
  endIfUnread();
  const io = { ...nodeIo, readProgram: readProgramAt(url), openReaders: readInNodeThreads(url) };
  process.exitCode = await runCommand(process.argv.slice(2), io);
}
