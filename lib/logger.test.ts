import { describe, expect, it } from "vitest";
import { createLogger } from "./logger";

function logLine(err: unknown): string {
  const lines: string[] = [];
  createLogger("info", { write: (line: string) => void lines.push(line) }).error({ err }, "failed");
  expect(lines).toHaveLength(1);
  return lines[0] ?? "";
}

describe("errors in log lines", () => {
  it("are written by type, message, code and frames, with their causes", () => {
    const cause = Object.assign(new TypeError("inner"), { code: "ECONNREFUSED" });
    const { err } = JSON.parse(logLine(new Error("outer", { cause })));
    expect(err).toMatchObject({ type: "Error", message: "outer" });
    expect(err.cause).toMatchObject({ type: "TypeError", message: "inner", code: "ECONNREFUSED" });
    expect(err.stack).toContain("logger.test");
  });

  it("never repeat what a statement's parameters or rows hold", () => {
    const secret = "canary-5d1f";
    const driver = Object.assign(new Error(`invalid input syntax for type uuid: "${secret}\n"`), {
      code: "22P02",
      constraint_name: "some_check",
      detail: `Failing row contains (${secret})`,
      parameters: [secret],
      where: secret,
    });
    const wrapped = Object.assign(
      new Error(`Failed query: INSERT INTO t VALUES ($1)\nparams: ${secret}`, { cause: driver }),
      { query: "INSERT INTO t VALUES ($1)", params: [secret] },
    );
    const line = logLine(wrapped);
    expect(line).not.toContain(secret);
    expect(JSON.parse(line).err).toMatchObject({
      message: "Failed query: INSERT INTO t VALUES ($1)",
      cause: { code: "22P02", constraint: "some_check", message: "invalid input syntax for type uuid" },
    });
  });

  it("stay one short line, whatever is thrown", () => {
    const line = logLine(new Error(`a\nb\u001b[31m${"x".repeat(1_000_000)}`));
    expect(line.trimEnd()).not.toContain("\n");
    expect(line.length).toBeLessThan(10_000);
    expect(JSON.parse(logLine({ token: "canary" })).err).toEqual({
      type: "object",
      message: "not an Error",
      stack: "",
    });
  });
});
