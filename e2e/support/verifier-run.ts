/** For tests only: verify.mjs in this process. */
import { utf8Encode } from "#lib/protocol/encoding/bytes";
import { toByteSource } from "#lib/protocol/encoding/zip";
import type { CommandIo } from "#lib/verifier/cli/io";
import { nodeIo } from "#lib/verifier/cli/node-io";
import { runCommand } from "#lib/verifier/cli/run-command";

/** Runs with the machine's files and network where `io` has no others; returns its exit code and everything it prints. */
export async function runHere(
  argv: readonly string[],
  io: Partial<CommandIo> = {},
): Promise<{ code: number; out: string }> {
  let out = "";
  const print = (text: string) => {
    out += text;
  };
  const quiet = { progress: undefined, apiKey: undefined };
  const code = await runCommand([...argv], { ...nodeIo, ...quiet, print, tell: print, ...io });
  return { code, out };
}

/** Runs with files in memory. */
export const runVerifier = (
  argv: string[],
  fetch: (url: string | URL | Request) => Promise<Response>,
  files: Map<string, string>,
  /** Seconds by which the outsider's clock is ahead. */
  laterSeconds = () => 0,
) =>
  runHere(argv, {
    fetch: fetch as typeof globalThis.fetch,
    readFile: async (name) => utf8Encode(files.get(name) ?? ""),
    openFile: async (name) => ({ ...toByteSource(utf8Encode(files.get(name) ?? "")), close: () => {} }),
    isFile: async (name) => files.has(name),
    writeFile: async (name, text) => void files.set(name, text),
    readStdin: async () => new Uint8Array(),
    nowSeconds: () => Math.floor(Date.now() / 1_000) + laterSeconds(),
  });
