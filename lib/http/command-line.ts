/** What the command lines have in common: plain lines out, a message instead of a stack, the exit code. */

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** `run` answers the exit code, or null where the arguments make no sense. */
export function runCommand(usage: string, run: () => Promise<number | null>): void {
  run().then(
    (code) => {
      if (code === null) process.stderr.write(`${usage}\n`);
      process.exitCode = code ?? 2;
    },
    (error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
      process.exitCode = 1;
    },
  );
}
