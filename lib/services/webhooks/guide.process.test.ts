/** The receiver that /docs/webhooks shows runs as it is written, and takes genuine messages only. */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { findPort } from "#support/ports";
import { post } from "./deliver";
import { revealSecret, signMessage } from "./endpoints";

it("the guide's receiver", async () => {
  const guide = readFileSync("components/guides/content/webhooks.md", "utf8");
  const [, program = ""] = /```js\n([\s\S]*?)```/.exec(guide) ?? [];
  const folder = mkdtempSync(path.join(tmpdir(), "countersign-receiver-"));
  const file = path.join(folder, "receiver.mjs");
  writeFileSync(file, program);
  const keys = { secret: new Uint8Array(32).fill(7), seed: new Uint8Array(32).fill(8) };
  const port = await findPort();
  const child = spawn(process.execPath, [file], {
    env: { NODE_ENV: "test", WEBHOOK_SECRET: revealSecret(keys), PORT: String(port) },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => {
    child.kill();
    rmSync(folder, { recursive: true });
  });
  let out = "";
  child.stdout.on("data", (chunk) => {
    out += chunk;
  });
  const send = async (timestamp: number, changes: { body?: string } = {}) => {
    const message = {
      id: "msg_1",
      timestamp,
      body: '{"type":"attestation.created","data":{"attestation_id":"x"}}',
    };
    const headers = {
      "webhook-id": message.id,
      "webhook-timestamp": String(timestamp),
      "webhook-signature": signMessage(message, [keys]),
    };
    const url = `http://127.0.0.1:${port}/`;
    return (await post({ url, body: message.body, headers, mayBeLoopback: true, nowMs: 0, ...changes }))
      .status;
  };
  const now = Math.floor(Date.now() / 1000);
  await expect.poll(() => send(now)).toBe(204);
  expect([await send(now), await send(now - 600), await send(now, { body: "{}" })]).toEqual([204, 401, 401]);
  await expect.poll(() => out).toBe("attestation.created x\n");
});
