/** For tests only: verify.mjs in this process, with its files in memory. */
import { utf8Encode } from "#lib/protocol/encoding/bytes";
import { sourceOf } from "#lib/protocol/encoding/zip";
import { nodeIo } from "#lib/verifier/cli/node-io";
import { runCommand } from "#lib/verifier/cli/run-command";

export async function runVerifier(
  argv: string[],
  fetch: (url: string | URL | Request) => Promise<Response>,
  files: Map<string, string>,
  /** By how much the outsider's clock is ahead. */
  laterSeconds = () => 0,
): Promise<{ code: number; out: string }> {
  const printed: string[] = [];
  const code = await runCommand(argv, {
    fetch: fetch as typeof globalThis.fetch,
    readFile: async (name) => utf8Encode(files.get(name) ?? ""),
    openFile: async (name) => ({ ...sourceOf(utf8Encode(files.get(name) ?? "")), close: () => {} }),
    isFile: async (name) => files.has(name),
    writeFile: async (name, text) => void files.set(name, text),
    readStdin: async () => new Uint8Array(),
    zip: nodeIo.zip,
    readProgram: nodeIo.readProgram,
    print: (text) => printed.push(text),
    tell: (text) => printed.push(text),
    progress: undefined,
    apiKey: undefined,
    nowSeconds: () => Math.floor(Date.now() / 1_000) + laterSeconds(),
  });
  return { code, out: printed.join("") };
}
