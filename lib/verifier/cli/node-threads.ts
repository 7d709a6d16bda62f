/** Threads that read the entries of a pack, each with the whole program: it is one file. */
// biome-ignore lint/style/noRestrictedImports: threads are started here and nowhere else in this folder
import { availableParallelism } from "node:os";
// biome-ignore lint/style/noRestrictedImports: as above
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import type { PlacedFile } from "#lib/protocol/encoding/zip";
import type { VerifierTrust } from "#lib/verifier/checks/trust";
import { createFileReader, type OpenReaders, type ReadFile, readHere } from "#lib/verifier/pack/read-entry";
import { nodeIo } from "./node-io";

interface ThreadWork {
  bytes: Uint8Array;
  trust: VerifierTrust;
}

/** A thread starts in a tenth of a second, in which one reads so many. */
const entriesPerThread = 250;
/** So few that a fault ends the run soon, and so many that a message costs little. */
const filesPerMessage = 50;

/** True if this is such a thread: it reads what it is sent, and the program does nothing else. */
export function servesEntries(): boolean {
  if (isMainThread) return false;
  const { bytes, trust } = workerData as ThreadWork;
  const readFile = createFileReader(bytes, nodeIo.zip, trust);
  parentPort?.on("message", async (files: PlacedFile[]) => {
    const found: ReadFile[] = [];
    for (const file of files) found.push(await readFile(file));
    parentPort?.postMessage(found);
  });
  return true;
}

function startThread(url: string, work: ThreadWork) {
  const worker = new Worker(new URL(url), { workerData: work });
  const waiting: { resolve(found: ReadFile[]): void; reject(error: Error): void }[] = [];
  worker.on("message", (found: ReadFile[]) => waiting.shift()?.resolve(found));
  worker.on("error", (error) => {
    for (const { reject } of waiting.splice(0)) reject(error);
  });
  return {
    read: (files: readonly PlacedFile[]) => {
      const found = new Promise<ReadFile[]>((resolve, reject) => waiting.push({ resolve, reject }));
      // It is awaited in its turn, or not at all after a fault.
      found.catch(() => undefined);
      worker.postMessage(files);
      return found;
    },
    end: () => void worker.terminate(),
  };
}

/** `url`: of a module that is the whole program, and that calls {@link servesEntries} first. */
export const readInThreads =
  (url: string): OpenReaders =>
  (bytes, trust, entries) => {
    const count = Math.min(availableParallelism(), Math.floor(entries / entriesPerThread));
    if (count < 2) return readHere(nodeIo.zip)(bytes, trust, entries);
    const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
    shared.set(bytes);
    const threads = Array.from({ length: count }, () => startThread(url, { bytes: shared, trust }));
    return {
      read: async function* (files) {
        const parts = Array.from({ length: Math.ceil(files.length / filesPerMessage) }, (_, i) =>
          files.slice(i * filesPerMessage, (i + 1) * filesPerMessage),
        );
        const asked: Promise<ReadFile[]>[] = [];
        const ask = (i: number) => {
          const [part, thread] = [parts[i], threads[i % count]];
          if (part !== undefined && thread !== undefined) asked.push(thread.read(part));
        };
        for (let i = 0; i < count * 2; i += 1) ask(i);
        for (let i = 0; i < parts.length; i += 1) {
          yield* (await asked.shift()) ?? [];
          ask(i + count * 2);
        }
      },
      close: () => {
        for (const { end } of threads) end();
      },
    };
  };
