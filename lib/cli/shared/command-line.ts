/** What the command lines have in common: plain lines out, a message instead of a stack, the exit code. */
import { UsageError } from "#lib/core/text/command-words";

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
