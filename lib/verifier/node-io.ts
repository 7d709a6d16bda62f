/** The machine, as a command line sees it: the only file of the verifier that touches it. */
// biome-ignore lint/style/noRestrictedImports: files are read and written here and nowhere else in this folder
import { readFile, rename, stat, writeFile } from "node:fs/promises";
import type { CommandIo } from "./command-io";

async function readStdin(): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks);
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (entry) => entry.isFile(),
    () => false,
  );
}

async function replaceFile(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}

export const nodeIo: CommandIo = {
  fetch,
  readFile: async (path) => new Uint8Array(await readFile(path)),
  isFile,
  writeFile: replaceFile,
  readStdin,
  print: (text) => process.stdout.write(text),
  progress: process.stderr.isTTY ? (text) => process.stderr.write(text) : undefined,
  // biome-ignore lint/style/noProcessEnv: a program of its own, without the service's settings
  apiKey: process.env["COUNTERSIGN_API_KEY"],
  nowSeconds: () => Math.floor(Date.now() / 1000),
};
