/** Shared by the command lines: plain lines out, a message instead of a stack, the exit code. */
import { realpathSync } from "node:fs";
import path from "node:path";
import { loadEnvFile, readVariables } from "#lib/env";
import type { RotatedPurpose } from "#lib/log/keys/key-events";
import { proxyGlobalFetch } from "#lib/platform/node-fetch";
import { readCommandLine, single, UsageError, unexpectedWords } from "#lib/protocol/text/command-words";

/** npm changes to the service's folder and keeps the caller's. */
const callersFolder = readVariables()["INIT_CWD"] ?? process.cwd();

export const resolveGiven = (file: string): string => path.resolve(callersFolder, file);

/** The service's own folder, above dist/cli: there are its programs and migrations, and a DATA_DIR that isn't absolute. */
function enterHome(): void {
  process.chdir(path.resolve(realpathSync(process.argv[1] ?? ""), "../../.."));
}

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** `run` answers the exit code; 1 if it fails, 2 if the arguments make no sense (UsageError). `--help` prints the usage. */
export function runCommand(usage: string, run: (argv: readonly string[]) => Promise<number>): void {
  const argv = process.argv.slice(2);
  if (argv.some((word) => word === "--help" || word === "-h")) {
    say(usage);
    return;
  }
  enterHome();
  loadEnvFile();
  proxyGlobalFetch();
  run(argv).then(
    (code) => {
      process.exitCode = code;
    },
    (error: unknown) => {
      const isUsage = error instanceof UsageError;
      const lines = [error instanceof Error ? error.message : String(error), ...(isUsage ? [usage] : [])];
      process.stderr.write(`${lines.filter((line) => line !== "").join("\n")}\n`);
      process.exitCode = isUsage ? 2 : 1;
    },
  );
}

/* The arguments of `npm run keys`. An option that the command doesn't use is refused, not ignored. */

export type KeyCommand =
  | { name: "list" | "wrap" }
  | { name: "rotate"; purpose: RotatedPurpose; file: string | undefined; isLost: boolean }
  | {
      name: "revoke";
      purpose: RotatedPurpose;
      keyId: string;
      file: string | undefined;
      fromIndex: number | undefined;
      /** The log that it is an index of: its number or origin. */
      log: string | undefined;
    };

const known = { valued: ["new-key-file", "from-index", "log"], flags: ["lost"] } as const;

/** Keyed by command: its arguments and options. */
const grammar: Record<KeyCommand["name"], { places: string[]; options: string[] }> = {
  list: { places: [], options: [] },
  wrap: { places: [], options: [] },
  rotate: { places: ["attestation|zk"], options: ["new-key-file", "lost"] },
  revoke: { places: ["attestation|zk", "KEY_ID"], options: ["new-key-file", "from-index", "log"] },
};

const isCommand = (word: string): word is KeyCommand["name"] => Object.hasOwn(grammar, word);

export function parseKeyArguments(argv: readonly string[]): KeyCommand {
  const line = readCommandLine(argv, known);
  const [name = "", ...words] = line.words;
  if (!isCommand(name))
    throw new UsageError(`list, rotate, revoke or wrap is expected, not ${name || "nothing"}`);
  const { places, options } = grammar[name];
  if (words.length > places.length) throw unexpectedWords(words, places.length);
  if (words.length < places.length) throw new UsageError(`${places[words.length]} is missing`);
  const foreign = [...Object.keys(line.values), ...line.flags].find((option) => !options.includes(option));
  if (foreign !== undefined) throw new UsageError(`${name} takes no --${foreign}`);
  if (name === "list" || name === "wrap") return { name };
  const [purposeWord, keyId = ""] = words;
  const purpose = parsePurpose(purposeWord);
  const file = single(line, "new-key-file");
  if (name === "rotate") return { name, purpose, file, isLost: line.flags.has("lost") };
  const fromIndex = parseIndex(single(line, "from-index"));
  const log = single(line, "log");
  if (purpose === "zk" && (fromIndex ?? log) !== undefined)
    throw new UsageError("a BBS key is revoked as a whole: it takes no --from-index and no --log");
  if (log !== undefined && fromIndex === undefined) throw new UsageError("--log needs --from-index");
  return { name, purpose, keyId, file, fromIndex, log };
}

function parsePurpose(word: string | undefined): RotatedPurpose {
  if (word === "attestation" || word === "zk") return word;
  if (word === "log")
    throw new UsageError(
      "a log never changes its key: npm run log -- new-epoch --new-log-key begins a new log",
    );
  throw new UsageError(`attestation or zk is expected, not ${word}`);
}

function parseIndex(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,15}$/.test(text)) throw new UsageError("--from-index: must be a number");
  return Number(text);
}
