/** The quick start, run in bash as the landing page prints it, with an address and the code from the mail filled in. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect } from "@playwright/test";
import { placeholderCode, placeholderEmail } from "#components/commands";
import { test } from "./test";

const email = `quick-${Date.now()}@example.com`;

test("the commands on the landing page do what they say", { tag: "@smoke" }, async ({
  page,
  request,
  baseURL,
}) => {
  await page.goto("/");
  const commands = await page.locator("ol pre code").allInnerTexts();
  expect(commands).toHaveLength(4);
  expect(commands.join("\n")).toContain(`${baseURL}/v1/attest`);
  const folder = mkdtempSync(path.join(os.tmpdir(), "countersign-quick-start-"));
  const run = (script: string) =>
    execFileSync("bash", ["-euo", "pipefail", "-c", script], {
      cwd: folder,
      encoding: "utf8",
      timeout: 60_000,
    });
  const fill = (command: string, code = "") =>
    command.replaceAll(placeholderEmail, email).replaceAll(placeholderCode, code);
  const [first = "", ...others] = commands;
  expect(JSON.parse(run(fill(first))).expires_in).toBe(600);
  const mailbox = await request.get("/dev/mailbox", { headers: { accept: "application/json" } });
  const { messages } = (await mailbox.json()) as { messages: { to: string; subject: string }[] };
  const code = messages.find(({ to }) => to === email)?.subject.slice(0, 6) ?? "";
  expect(code).toMatch(/^\d{6}$/);
  const wrong = spawnSync("bash", ["-euo", "pipefail", "-c", fill(others[0] ?? "", "wrong!")], {
    encoding: "utf8",
  });
  expect(wrong.status, "a failure ends the script").not.toBe(0);
  expect(wrong.stderr, "and says why").toContain("jq: error");
  const output = run(others.map((command) => fill(command, code)).join("\n"));
  const link = output.split("\n").find((line) => line.startsWith(`${baseURL}/verify/invoice-bot-`)) ?? "";
  expect(link).not.toBe("");
  expect(output).toContain("Authentic record.");
  const receipt = JSON.parse(run("cat receipt.json")) as { attestation_id: string };
  const verified = await request.get(`/v1/verify/${receipt.attestation_id}`);
  const answer = (await verified.json()) as {
    valid: boolean;
    independent_verification: { verify_signature: string };
  };
  expect(answer.valid).toBe(true);
  expect(run(answer.independent_verification.verify_signature)).toContain("Signature Verified Successfully");
});
