/** versitygw, an S3 server that keeps objects in a folder, if `node .ci/s3-server.mjs` has built it. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { findPort } from "./ports";

const program = path.resolve("node_modules/.cache/countersign/versitygw");
const bucket = "countersign-log";

/** Said once where tests are skipped. */
export function hasRealS3(): boolean {
  if (existsSync(program)) return true;
  console.warn(
    "Skipped: tests on versitygw. Build it with `node .ci/s3-server.mjs` (needs Go and its module proxy).",
  );
  return false;
}

export interface RealS3 {
  settings: Record<"LOG_STORE" | "LOG_STORE_ENDPOINT", string>;
  credentials: Record<string, string>;
  /** SIGKILL. */
  kill(): Promise<void>;
  revive(): Promise<void>;
  close(): Promise<void>;
}

export async function startRealS3(): Promise<RealS3> {
  const folder = mkdtempSync(path.join(tmpdir(), "countersign-s3-"));
  mkdirSync(path.join(folder, bucket));
  const port = await findPort();
  const url = `http://127.0.0.1:${port}`;
  let child: ChildProcess | null = null;
  const revive = async () => {
    const env = { ...process.env, ROOT_ACCESS_KEY: "AKIDEXAMPLE", ROOT_SECRET_KEY: "of-the-tests-alone" };
    child = spawn(program, ["--port", `127.0.0.1:${port}`, "--region", "eu-central-1", "posix", folder], {
      env,
      stdio: "ignore",
    });
    for (
      let left = 100;
      !(await fetch(url).then(
        () => true,
        () => false,
      ));
      left -= 1
    ) {
      if (left === 0) throw new Error("versitygw does not answer");
      await new Promise((later) => setTimeout(later, 50));
    }
  };
  const kill = async () => {
    const ended = child === null ? null : once(child, "exit");
    child?.kill("SIGKILL");
    await ended;
    child = null;
  };
  await revive();
  return {
    settings: { LOG_STORE: `s3://${bucket}/of-the/log`, LOG_STORE_ENDPOINT: url },
    credentials: {
      AWS_REGION: "eu-central-1",
      AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
      AWS_SECRET_ACCESS_KEY: "of-the-tests-alone",
      AWS_EC2_METADATA_DISABLED: "true",
    },
    kill,
    revive,
    close: async () => {
      await kill();
      rmSync(folder, { recursive: true });
    },
  };
}
