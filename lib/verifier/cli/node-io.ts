/** The machine, as a command line sees it: the only file of the verifier that touches it. */
// biome-ignore lint/style/noRestrictedImports: files are read and written here and nowhere else in this folder
import { closeSync, fstatSync, openSync, readFileSync, readSync, statSync } from "node:fs";
// biome-ignore lint/style/noRestrictedImports: as above
import { readFile, rename, writeFile } from "node:fs/promises";
// biome-ignore lint/style/noRestrictedImports: as above
import path from "node:path";
// biome-ignore lint/style/noRestrictedImports: as above
import { pathToFileURL } from "node:url";
// biome-ignore lint/style/noRestrictedImports: as above
import { setFlagsFromString } from "node:v8";
// biome-ignore lint/style/noRestrictedImports: as above
import { runInNewContext } from "node:vm";
// biome-ignore lint/style/noRestrictedImports: as above
import { Worker } from "node:worker_threads";
// biome-ignore lint/style/noRestrictedImports: as above
import zlib from "node:zlib";
import type { JoinedBytes } from "#lib/protocol/encoding/bytes";
import { crc32, readInWindows } from "#lib/protocol/encoding/zip";
import type { askThread, SignatureThread } from "#lib/verifier/pack/read-entry";
import type { CommandIo } from "./io";

async function readStdin(): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks);
}

async function isFile(path: string): Promise<boolean> {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

async function replaceFile(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}

/** Ends with 2 if nobody reads what is printed, or the disk is full: it wasn't said, so it counts as neither yes nor no. */
export function endIfUnread(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") process.stderr.write(`${error.message}\n`);
    process.exit(2);
  });
}

export const readOpenFile = (fd: number, size: number) => ({
  ...readInWindows(size, (offset, length) => {
    const bytes = new Uint8Array(length);
    return bytes.subarray(0, readSync(fd, bytes, 0, length, offset));
  }),
  fd,
});

/** Node has no call for it: V8 gives its own to each context that is made after the flag. */
export function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  runInNewContext("globalThis.gc?.()");
}

/** Runs from its text, in a thread in which nothing else is loaded. */
function serveSignatures(load: NodeJS.Require): void {
  const { createPublicKey, verify } = load("node:crypto") as typeof import("node:crypto");
  const { parentPort } = load("node:worker_threads") as typeof import("node:worker_threads");
  const keys = new Map<string, ReturnType<typeof createPublicKey>>();
  const holds = (publicKey: Buffer, signature: Buffer, message: Buffer) => {
    const x = publicKey.toString("base64url");
    const key = keys.get(x) ?? createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
    keys.set(x, key);
    return verify(null, message, key, signature);
  };
  const holdAll = ({ bytes, lengths }: JoinedBytes) => {
    let end = 0;
    const take = (i: number) => {
      const start = end;
      end += lengths[i] ?? 0;
      return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start);
    };
    for (let i = 0; i < lengths.length; i += 3) if (!holds(take(i), take(i + 1), take(i + 2))) return false;
    return true;
  };
  parentPort?.on("message", (signed: JoinedBytes) => {
    let all = false;
    try {
      all = holdAll(signed);
    } catch {
      // An OpenSSL without Ed25519 leaves it to the main thread.
    }
    parentPort.postMessage(all);
  });
}

/** `ask`: askThread, which commands without a verifier don't load. */
export function startSignatureThread(ask: typeof askThread): SignatureThread {
  const worker = new Worker(`(${serveSignatures})(require)`, { eval: true });
  const thread = ask<JoinedBytes, boolean>(
    (signed) => worker.postMessage(signed, [signed.bytes.buffer as ArrayBuffer]),
    () => void worker.terminate(),
  );
  worker.on("message", thread.onAnswer);
  worker.on("error", thread.onFailure);
  return thread;
}

/** `url`: of a module that is the whole program. */
export const readProgramAt = (url: string) => async () => new Uint8Array(await readFile(new URL(url)));

export const nodeIo: CommandIo = {
  fetch,
  // A call of a tool may wait for it (lib/client/cli/node-machine.ts).
  readFile: async (path) => new Uint8Array(readFileSync(path)),
  openFile: async (path) => {
    // Heap limit grows by a fifth instead of up to four times what is in use: a large file is read in parts, and its rest is
    // garbage soon.
    setFlagsFromString("--heap-growing-percent=20");
    const fd = openSync(path, "r");
    return { ...readOpenFile(fd, fstatSync(fd).size), close: () => closeSync(fd) };
  },
  isFile,
  writeFile: replaceFile,
  readStdin,
  zip: {
    inflate: (bytes, maxBytes) => {
      // One buffer, of the stated size: filled to its last byte, Node would take another and ask zlib again.
      const options = {
        maxOutputLength: Math.max(1, maxBytes),
        chunkSize: Math.max(64, maxBytes + 1),
        info: true,
      };
      const { buffer, engine } = zlib.inflateRawSync(bytes, options) as unknown as {
        buffer: Uint8Array;
        engine: { bytesWritten: number };
      };
      // zlib stops at the end of the stream, and says nothing of what follows.
      if (engine.bytesWritten !== bytes.length) throw new RangeError("bytes after the deflated ones");
      return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.length);
    },
    // Node has its own since 20.15.
    crc32: zlib.crc32 ?? crc32,
  },
  readProgram: async () => null,
  print: (text) => process.stdout.write(text),
  tell: (text) => process.stderr.write(text),
  progress: process.stderr.isTTY ? (text) => process.stderr.write(text) : undefined,
  // biome-ignore lint/style/noProcessEnv: a program of its own, without the service's settings
  apiKey: process.env["COUNTERSIGN_API_KEY"],
  loadCedar: async (folder) => {
    const file = path.resolve(folder, "nodejs/cedar_wasm.js");
    const loaded = (await import(pathToFileURL(file).href)) as { default?: unknown };
    return loaded.default ?? loaded;
  },
  nowSeconds: () => Math.floor(Date.now() / 1000),
};
