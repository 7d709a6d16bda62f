import { expect, it } from "vitest";
import { createLogger } from "#lib/logger";
import { logConsole } from "./request-log";

function print(...args: unknown[]) {
  const lines: string[] = [];
  const target = { ...console };
  logConsole(createLogger("info", { write: (line: string) => void lines.push(line) }), target);
  target.error(...args);
  expect(lines).toHaveLength(1);
  const [line = ""] = lines;
  expect(line.trimEnd()).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u);
  return { line, ...JSON.parse(line) };
}

it("writes one line, in which every character that a terminal obeys is escaped", () => {
  const text = 'two\nlines \u001b[31m \u009b31m \u0085{"level":30} \u2028 \u202e';
  expect(print("⨯", text)).toMatchObject({ level: 50, msg: `⨯ ${text}` });
});

it("takes what Node warns of for a warning, though Node prints it as an error", () => {
  const text = "(node:71) NodeVersionSupportWarning: an SDK will no longer support Node.js v20";
  expect(print(text)).toMatchObject({ level: 40, msg: text });
});

it("tells an error as the logger does, without a statement's parameters", () => {
  const error = new Error("Failed query: SELECT $1\nparams: canary-7d02");
  expect(print("⨯", error)).toMatchObject({ msg: "⨯", err: { message: "Failed query: SELECT $1" } });
  for (const args of [[error], [error.stack], ["x", { row: "canary-7d02" }]])
    expect(print(...args).line).not.toContain("canary-7d02");
});
