/** Python's tests without Python or a registry: they are skipped, and the reason is printed. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { runProgram } from "#support/commands";
import { findPython, findPythonIn } from "#support/python";

let folder: string;
let cache: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "countersign-skips-"));
  cache = path.join(folder, "cache");
  return () => rmSync(folder, { recursive: true });
});

/** A PATH with these programs of ours in front of the system's, or alone. */
function makePath(programs: Record<string, string>, isAlone: boolean): string {
  const bin = path.join(folder, "bin");
  mkdirSync(bin);
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(path.join(bin, name), `#!/bin/sh\n${script}\n`);
    chmodSync(path.join(bin, name), 0o755);
  }
  return isAlone ? bin : `${bin}:${process.env["PATH"]}`;
}

const python = await findPython("core");

describe("the environment of Python's tests", () => {
  const noPython = { missing: "no Python 3.10 or newer with venv" };

  it("is missing without Python", async () => {
    const env = { PATH: makePath({}, true) };
    expect(await findPythonIn({ env, cache }, "core")).toEqual(noPython);
    expect(existsSync(cache)).toBe(false);
  });

  it("is missing if Python is too old or has no venv", async () => {
    const env = { PATH: makePath({ python3: "echo 3.9.18; exit 1" }, true) };
    expect(await findPythonIn({ env, cache }, "core")).toEqual(noPython);
  });

  it.skipIf(python.missing)(
    "is missing if the registry is out of reach, and leaves nothing half made (run by npm run test:python)",
    async () => {
      const env = { ...process.env, PIP_INDEX_URL: "http://127.0.0.1:1/", PIP_CONFIG_FILE: "/dev/null" };
      const { missing } = await findPythonIn(
        { env: { ...env, PIP_NO_CACHE_DIR: "1", PIP_RETRIES: "0" }, cache },
        "core",
      );
      expect(missing).toMatch(/^pip could not install \(is the registry out of reach\?\)/);
      expect(readdirSync(cache)).toEqual([]);
    },
  );

  it.skipIf(python.missing)("is made once (run by npm run test:python)", async () => {
    expect(await findPython("core")).toEqual(python);
    expect(existsSync(python.path ?? "")).toBe(true);
  });
});

describe("what CI runs", () => {
  const npm = (script: string) => `echo "npm $*"\n${script}`;
  const run = (programs: Record<string, string>) => {
    const env = { PATH: makePath(programs, false), HOME: process.env["HOME"] };
    return runProgram("bash", [path.resolve(".ci/run")], { cwd: folder, env });
  };

  it("says that it skips the frameworks where pip reaches no registry, and still runs the rest", async () => {
    const { code, out } = await run({
      python3: "exit 1",
      npm: npm('echo "$TEST_DATABASES $TEST_GENERATORS $TEST_PYTHON"; echo "5 passed, 0 failed"'),
    });
    expect(code).toBe(0);
    expect(out.split("\n")).toEqual([
      "npm test --silent",
      "postgres  ",
      "5 passed, 0 failed",
      "skipped: npm run test:python, without Python or its registry",
      "npm test --silent -- --rest",
      " all ",
      "5 passed, 0 failed",
      "10 passed, 0 failed",
      "",
    ]);
  });

  it("runs all, names again what failed in any, and adds up what they counted", async () => {
    const tests = `case "$*" in
      *--rest) echo "$TEST_PYTHON"; echo "failed: that file › is so"; echo "2 passed, 2 failed"; exit 3;;
      *) echo "failed: lint"; echo "5 passed, 1 failed, 4 skipped"; exit 1;;
    esac`;
    const { code, out } = await run({ python3: "exit 0", npm: npm(tests) });
    expect(code).toBe(3);
    expect(out.split("\n").slice(-4)).toEqual([
      "failed: lint",
      "failed: that file › is so",
      "7 passed, 3 failed, 4 skipped",
      "",
    ]);
    expect(out).toContain("npm test --silent\nfailed: lint\n");
    expect(out).toContain("npm test --silent -- --rest\nall\nfailed: that file › is so\n");
  });

  it("fails if only the rest does", async () => {
    const { code } = await run({ python3: "exit 1", npm: npm('[ "$4" != --rest ] || exit 6') });
    expect(code).toBe(6);
  });

  it("fails if the tests do", async () => {
    const { code } = await run({ python3: "exit 1", npm: npm('[ "$4" = --rest ] || exit 4') });
    expect(code).toBe(4);
  });
});
