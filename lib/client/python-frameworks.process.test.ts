/**
 * The tools of clients/python for agents' frameworks, each in the framework itself, and the programs of their guides, as they are
 * printed, each with a model that calls its tool once. `npm run test:python` runs them; they need some gigabytes of packages.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runProgram } from "#support/commands";
import {
  isPythonWanted,
  type PythonService,
  pythonFolder,
  requirePython,
  runPytest,
  startPythonService,
} from "#support/python";

const order = `{"invoice": 1042, "cents": 10_000}`;

/** Code that the reader adds, taken from the package's tests. */
const models = {
  "pydantic-ai": `from test_pydantic_ai import model_of\nmodel = model_of(${order})`,
  "openai-agents": `from test_openai_agents import Scripted\nmodel = Scripted([${order}])`,
  langchain: `from test_langchain import Scripted\nmodel = Scripted(calls=[${order}])`,
  crewai: `from test_crewai import Scripted\nmodel = Scripted(model="scripted", calls=[${order}])`,
  "agent-framework": `from test_agent_framework import Scripted\nmodel = Scripted([${order}])`,
  "google-adk": `from test_google_adk import Scripted\nmodel = Scripted(model="scripted", calls=[${order}])`,
  "claude-agent-sdk": "",
};
type Framework = keyof typeof models;
const frameworks = Object.keys(models) as Framework[];

const run = `import runpy\nrunpy.run_path("program.py", run_name="__main__")`;
/** The SDK takes the place of its API from the environment. */
const runWithApi = `
import os
from test_claude_agent_sdk import scripted
with scripted(["echo paid 10000"]) as api:
    quiet = {"DISABLE_TELEMETRY": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "CLAUDE_CONFIG_DIR": os.getcwd()}
    os.environ.update(quiet, ANTHROPIC_BASE_URL=api, ANTHROPIC_API_KEY="x", HOME=os.getcwd())
    import runpy
    runpy.run_path("program.py", run_name="__main__")`;

describe.skipIf(!isPythonWanted)(
  "clients/python, wholly (run by npm run test:python)",
  { timeout: 1_800_000 },
  () => {
    let service: PythonService;
    beforeAll(async () => {
      service = await startPythonService();
    });
    afterAll(() => service.close());

    it.concurrent.each(frameworks)("gates the tools of %s", async (framework) => {
      const file = `test_${framework.replaceAll("-", "_")}.py`;
      await runPytest(await requirePython(framework), file, service.env);
    });

    it.concurrent.each([
      ["telemetry", "test_telemetry.py"],
      ["claude-agent-sdk", "test_claude_code_telemetry.py"],
    ])("records the tools that OpenTelemetry's exporters tell of: %s", async (requirements, file) => {
      await runPytest(await requirePython(requirements), file, service.env);
    });

    async function writeProgram(framework: Framework): Promise<string> {
      const folder = await mkdtemp(path.join(tmpdir(), "countersign-guide-"));
      const guide = await readFile(`components/guides/content/python-${framework}.md`, "utf8");
      const programs = [...guide.matchAll(/^```python\n([\s\S]*?)^```$/gm)].map(([, code = ""]) => code);
      expect(programs).toHaveLength(1);
      await writeFile(path.join(folder, "program.py"), programs.join("").replaceAll("{base}", service.base));
      await writeFile(path.join(folder, "model.py"), models[framework]);
      return folder;
    }

    async function runGuide(framework: Framework) {
      // To install a framework may take longer than `fetch` waits for an answer.
      const python = await requirePython(framework);
      const folder = await writeProgram(framework);
      const agent = `guide-${framework}`;
      const env = {
        ...service.env,
        PYTHONPATH: `${pythonFolder}:${path.join(pythonFolder, "tests")}`,
        AGENT: agent,
      };
      const ending = new AbortController();
      const decide = fetch(`${service.env["COUNTERSIGN_CONTROL_URL"]}/approve-next`, {
        method: "POST",
        body: JSON.stringify({ agent_slug: agent }),
        signal: ending.signal,
      }).then(({ status }) => status);
      const code = framework === "claude-agent-sdk" ? runWithApi : run;
      const running = runProgram(python, ["-c", code], { cwd: folder, env });
      // A program that ended without asking is never decided.
      const [ended, decided] = await Promise.all([
        running.finally(() => ending.abort()),
        decide.catch(String),
      ]);
      expect(decided, ended.out).toBe(200);
      await rm(folder, { recursive: true });
      return ended;
    }

    it.concurrent.each(frameworks)("runs what %s's guide prints, once it is approved", async (framework) => {
      expect(await runGuide(framework)).toEqual({
        code: 0,
        out: expect.stringMatching(/^http\S+\/approve\/\S+ \S+$[\s\S]*paid 10000/m),
      });
    });

    const others = [
      ["Agno", "agno_model"],
      ["Strands Agents", "strands_model"],
      ["Haystack", "haystack_model"],
      ["LlamaIndex", "llama_index_model"],
      ["smolagents", "smolagents_model"],
    ] as const;

    it("is an interceptor for AGENT-HOOKS", async () => {
      await runPytest(await requirePython("other-frameworks"), "test_agent_hooks.py", service.env);
    });

    it.each(others)(
      "runs what the guide of other frameworks prints, and nothing if it is denied: %s",
      async (name, model) => {
        const python = await requirePython("other-frameworks");
        const guide = await readFile("components/guides/content/python-other-frameworks.md", "utf8");
        const programOf = (heading: string) =>
          new RegExp(`^## ${heading}$[\\s\\S]*?^\`\`\`python\\n([\\s\\S]*?)^\`\`\`$`, "m").exec(guide)?.[1] ??
          "";
        const folder = await mkdtemp(path.join(tmpdir(), "countersign-others-"));
        const files = {
          "gated.py": programOf("The tool").replaceAll("{base}", service.base),
          "model.py": `import scripted_models\nmodel = scripted_models.${model}()`,
          "program.py": programOf(name),
        };
        for (const [file, text] of Object.entries(files)) await writeFile(path.join(folder, file), text);
        for (const decision of ["approve", "deny"]) {
          const AGENT = `others-${decision}-${model.replaceAll("_", "-")}`;
          const PYTHONPATH = [folder, pythonFolder, path.join(pythonFolder, "tests")].join(":");
          const decided = fetch(`${service.env["COUNTERSIGN_CONTROL_URL"]}/${decision}-next`, {
            method: "POST",
            body: JSON.stringify({ agent_slug: AGENT }),
          });
          const { out } = await runProgram(python, ["program.py"], {
            cwd: folder,
            env: { ...service.env, PYTHONPATH, AGENT },
          });
          expect((await decided).status, out).toBe(200);
          if (decision === "approve") expect(out).toMatch(/^http\S+\/approve\/[\s\S]*paid 10000/m);
          else expect(out).not.toContain("paid 10000");
        }
        await rm(folder, { recursive: true });
      },
    );

    it.each(["mypy", "pyright"])("has types that %s accepts at its strictest", async (checker) => {
      const python = await requirePython("core", "types");
      const options = checker === "pyright" ? ["--pythonpath", python] : ["--cache-dir", "/dev/null"];
      const env = { PATH: process.env["PATH"], HOME: process.env["HOME"] };
      const checked = await runProgram(python, ["-m", checker, ...options], { cwd: pythonFolder, env });
      expect(checked.code, checked.out).toBe(0);
    });
  },
);
