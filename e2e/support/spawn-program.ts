/** A server that a test starts in a process of its own, and stops. It takes PORT, and prints "listening". */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { findPort } from "./ports";

export interface SpawnedProgram {
  base: string;
  /** Output so far. */
  read(): string;
  stop(): Promise<void>;
}

export async function spawnProgram(file: string, env: Record<string, string>): Promise<SpawnedProgram> {
  const port = await findPort();
  const child = spawn(process.execPath, [file], { env: { NODE_ENV: "test", PORT: String(port), ...env } });
  let out = "";
  const listening = new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (chunk: string) => {
        out += chunk;
        if (out.includes("listening")) resolve();
      });
    child.on("exit", () => reject(new Error(`it ended: ${out}`)));
  });
  await listening;
  return {
    base: `http://127.0.0.1:${port}`,
    read: () => out,
    stop: async () => {
      child.kill();
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    },
  };
}
