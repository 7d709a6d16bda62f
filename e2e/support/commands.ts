/** Commands as people run them, in a process of their own. */
import { spawn } from "node:child_process";

export interface CommandRun {
  code: number | null;
  /** Standard output and standard error, as they came. */
  out: string;
}

/** `env` is its whole environment, but for NODE_ENV and LOG_LEVEL. */
export function runProgram(
  file: string,
  args: readonly string[],
  { cwd, env, input = "" }: { cwd?: string; env: Record<string, string | undefined>; input?: string },
): Promise<CommandRun> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { cwd, env: { NODE_ENV: "test", LOG_LEVEL: "silent", ...env } });
    child.stdin.on("error", () => {}).end(input);
    let out = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (chunk: string) => {
        out += chunk;
      });
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, out }));
  });
}

/** A failure shows what the command said. */
export function expectExit({ code, out }: CommandRun, expected: number): void {
  if (code !== expected)
    throw new Error(`the exit code is ${code}, not ${expected}; the command printed:\n${out}`);
}
