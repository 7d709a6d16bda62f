/** Shared by the command lines: plain lines out, a message instead of a stack, the exit code. */
import { realpathSync } from "node:fs";
import path from "node:path";
import { readVariables } from "#lib/env";
import { proxyGlobalFetch } from "#lib/platform/node-fetch";
import { UsageError } from "#lib/protocol/text/command-words";

/** npm changes to the service's folder and keeps the caller's. */
const callersFolder = readVariables()["INIT_CWD"] ?? process.cwd();

/** A file that the caller named, as seen from where they are. */
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
