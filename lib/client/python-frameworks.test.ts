/**
 * The tools of clients/python for agents' frameworks, each in the framework itself. `npm run test:python` runs them; they need
 * some gigabytes of packages.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runProgram } from "#support/commands";
import {
  type PythonService,
  pythonFolder,
  requirePython,
  runPytest,
  startPythonService,
} from "#support/python";

const isWanted = process.env["TEST_PYTHON"] === "all";

describe.skipIf(!isWanted)(
  "clients/python, wholly (run by npm run test:python)",
  { timeout: 900_000 },
  () => {
    let service: PythonService;
    beforeAll(async () => {
      service = await startPythonService();
    });
    afterAll(() => service.close());

    const frameworks = [
      "pydantic-ai",
      "openai-agents",
      "langchain",
      "crewai",
      "agent-framework",
      "google-adk",
      "claude-agent-sdk",
    ];
    it.concurrent.each(frameworks)("gates the tools of %s", async (framework) => {
      const file = `test_${framework.replaceAll("-", "_")}.py`;
      await runPytest(await requirePython(framework), file, service.env);
    });

    it.each(["mypy", "pyright"])("has types that %s accepts at its strictest", async (checker) => {
      const python = await requirePython("core", "types");
      const options = checker === "pyright" ? ["--pythonpath", python] : ["--cache-dir", "/dev/null"];
      const env = { PATH: process.env["PATH"], HOME: process.env["HOME"] };
      const checked = await runProgram(python, ["-m", checker, ...options], { cwd: pythonFolder, env });
      expect(checked).toMatchObject({ code: 0 });
    });
  },
);
