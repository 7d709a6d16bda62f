/** Guarantee: the hook is where the agent can't replace it, in settings that the agent reads, and proven to be live. */
import { spawn, spawnSync } from "node:child_process";
import {
  chmod,
  copyFile,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { nodeMachine } from "#lib/client/cli/node-machine";
import { approveUnproven, openNext } from "#support/authorizations";
import { runProgram } from "#support/commands";
import {
  answerOf,
  type Ended,
  type HookTest,
  hookProgram,
  newCall,
  runClientHere,
  runHookProcess,
  startHookTest,
} from "#support/hook-process";
import { dialectNames } from "./agents";
import { needsHuman, readPattern } from "./dialects";

let around: HookTest;
let home: string;
let keyFile: string;
const inHome = (...names: string[]) => path.join(home, ...names);
beforeAll(async () => {
  around = await startHookTest();
  home = path.join(around.folder, "home");
  await mkdir(inHome("project", ".git"), { recursive: true });
  keyFile = inHome("hook.key");
  await writeFile(keyFile, `${(await around.test.createKey("dev@example.com", ["hook"])).key}\n`, {
    mode: 0o600,
  });
});
afterAll(() => around.close());

const install = (argv: string[], cwd = home) =>
  runHookProcess(["install", "--agent", "coder", "--key-file", keyFile, ...argv], "", {
    cwd,
    env: { HOME: home, COUNTERSIGN_URL: around.service.base },
  });
const readJson = async (...names: string[]) => JSON.parse(await readFile(inHome(...names), "utf8"));

/** Runs the hook as an agent does: in its project, by a shell, with an environment that has no key. */
const runInstalled = (command: string, stdin: string, cwd = inHome("project")) =>
  new Promise<Ended>((resolve) => {
    const child = spawn("sh", ["-c", command], { cwd, env: { NODE_ENV: "test", HOME: home } });
    const ended = { out: "", err: "" };
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      ended.out += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      ended.err += text;
    });
    child.on("close", (code) => resolve({ code, ...ended }));
    child.stdin.on("error", () => undefined).end(stdin);
  });

const hookFiles = ["countersign-hook.cjs", "countersign-hook.mjs"];
const lastWords = "countersign: this hook failed. A call that waits for it does not run.";

describe("hook install", () => {
  it("shows the difference, writes it if told to, and then has nothing to change", async () => {
    await mkdir(inHome(".claude"), { recursive: true });
    const theirs = { matcher: "Bash", hooks: [{ type: "command", command: "echo theirs" }] };
    const old = { type: "command", command: "node countersign.mjs hook --agent coder || exit 2" };
    const before = {
      model: "x",
      hooks: { PreToolUse: [{ ...theirs, hooks: [...theirs.hooks, old] }], Stop: [theirs] },
    };
    const text = `${JSON.stringify(before, null, 2)}\n`;
    await writeFile(inHome(".claude/settings.json"), text, { mode: 0o600 });

    const shown = await install(["--match", "Bash"]);
    expect(shown.code).toBe(0);
    expect(shown.out).toContain(
      '-             "command": "node countersign.mjs hook --agent coder || exit 2"',
    );
    expect(shown.out).toContain('+     "PostToolUseFailure": [');
    expect(shown.out, "what stays isn't shown").not.toMatch(/echo theirs/);
    expect(shown.out).toContain("Nothing is written yet");
    expect(shown.err).toContain("can read this key");
    expect(await readFile(inHome(".claude/settings.json"), "utf8")).toBe(text);
    await expect(stat(inHome(".countersign"))).rejects.toThrow();

    expect((await install(["--match", "Bash", "--yes"])).out).toContain("Installed.");
    const { hooks, model, statusLine } = await readJson(".claude/settings.json");
    expect(model).toBe("x");
    expect(statusLine.command, "link and code are seen").toContain("~/.countersign/waiting");
    const command = `${process.execPath} ${inHome(".countersign/countersign-hook.cjs")} --url ${around.service.base} --key-file ${keyFile} --agent coder --match Bash --output ${inHome(".countersign/waiting")} || { echo '${lastWords}' >&2; exit 2; }`;
    const entry = { type: "command", command, timeout: 600, onFailure: "block" };
    const ours = { hooks: [entry] };
    expect(hooks).toEqual({
      PreToolUse: [theirs, ours],
      Stop: [theirs, { hooks: [{ ...entry, command: command.replace("exit 2", "exit 1") }] }],
      PostToolUse: [ours],
      PostToolUseFailure: [ours],
    });
    for (const name of hookFiles) {
      const program = inHome(".countersign", name);
      expect((await readFile(program)).equals(await readFile(`dist/${name}`))).toBe(true);
      expect((await stat(program)).mode & 0o777).toBe(0o644);
    }
    expect((await stat(inHome(".claude/settings.json"))).mode & 0o777, "as it was").toBe(0o600);

    const written = await readFile(inHome(".claude/settings.json"), "utf8");
    expect((await install(["--match", "Bash", "--yes"])).out).toMatch(
      /^Nothing to change: the hook is installed\.\n/,
    );
    expect(await readFile(inHome(".claude/settings.json"), "utf8")).toBe(written);
    await install(["--match", "Bash", "--timeout", "100", "--yes"]);
    const again = await readJson(".claude/settings.json");
    expect(again.hooks.PreToolUse).toHaveLength(2);
    expect(again.hooks.PreToolUse[1].hooks[0]).toMatchObject({ timeout: 130 });
  });

  it.each([
    ["codex", ".codex/hooks.json", ["PreToolUse", "PostToolUse", "Stop"], { timeout: 600 }],
    [
      "gemini",
      ".gemini/settings.json",
      ["BeforeTool", "AfterTool"],
      { name: "countersign", timeout: 600_000 },
    ],
  ])("writes settings of %s", async (dialect, file, events, more) => {
    expect((await install(["--dialect", dialect, "--yes"])).code).toBe(0);
    const settings = await readJson(file);
    expect(Object.keys(settings)).toEqual(["hooks"]);
    expect(Object.keys(settings.hooks)).toEqual(events);
    for (const event of events) {
      // Ended with 2, Codex goes on instead of stopping.
      const code = event === "Stop" ? 1 : 2;
      const end = `--dialect ${dialect} --output \\S+/waiting \\|\\| \\{ echo '${lastWords}' >&2; exit ${code}; \\}$`;
      const command = expect.stringMatching(new RegExp(end));
      const status = { statusMessage: "link and code: ~/.countersign/waiting" };
      const told = dialect === "codex" && event === "PreToolUse" ? status : {};
      expect(settings.hooks[event]).toEqual([{ hooks: [{ type: "command", command, ...more, ...told }] }]);
    }
  });

  it("writes settings of copilot", async () => {
    expect((await install(["--dialect", "copilot", "--yes"])).code).toBe(0);
    const { version, hooks } = await readJson(".copilot/hooks/countersign.json");
    const handler = { type: "command", bash: expect.stringContaining("--dialect copilot"), timeoutSec: 600 };
    expect([version, hooks]).toEqual([
      1,
      { preToolUse: [handler], postToolUse: [handler], postToolUseFailure: [handler] },
    ]);
    const { bash } = hooks.preToolUse[0];
    const gone = await runInstalled(bash.replace("countersign-hook.cjs", "gone.cjs"), "{}");
    expect(gone).toMatchObject({ code: 2, err: expect.stringContaining(lastWords) });
    expect(answerOf(gone)).toEqual({ permissionDecision: "deny", permissionDecisionReason: lastWords });
    const line = await readJson(".copilot/settings.json");
    expect(line.statusLine.command, "link and code are seen").toContain("~/.countersign/waiting");
    const failed = await runInstalled(bash, "{}");
    expect(failed.code).toBe(2);
    expect(answerOf(failed), "one answer").toMatchObject({ permissionDecision: "deny" });
  });

  it.each([
    [".qwen/settings.json", "qwen", (settings: { ui: object }) => settings.ui, "statusLine"],
    [
      ".cursor/hooks.json",
      "cursor",
      (settings: { hooks: { preToolUse: object[] } }) => settings.hooks.preToolUse[0],
      "failClosed",
    ],
    [
      ".gemini/config/hooks.json",
      "antigravity",
      (settings: { hooks: { PostToolUse: { hooks: object[] }[] } }) =>
        settings.hooks.PostToolUse[0]?.hooks[0],
      "--event PostToolUse",
    ],
    [
      ".agents/plugins/countersign/hooks/hooks.json",
      "goose",
      (settings: { hooks: { PreToolUse: object[] } }) => settings.hooks.PreToolUse[0],
      '"on_failure":"block"',
    ],
  ])("writes %s of %s", async (file, dialect, pick, what) => {
    expect((await install(["--dialect", dialect, "--yes"])).code).toBe(0);
    expect(JSON.stringify(pick(await readJson(file)))).toContain(what);
    expect((await install(["--dialect", dialect, "--yes"])).out).toContain("Nothing to change");
  });

  it("writes tables of TOML beside others, under names that no project can guess", async () => {
    const file = inHome(".vibe/hooks.toml");
    const theirs = `[[hooks]]\nname = "lint"\ntype = "post_tool"\ncommand = 'make "lint"' # theirs\n`;
    await mkdir(inHome(".vibe"));
    await writeFile(file, theirs);
    const writeVibe = (...more: string[]) => install(["--dialect", "vibe", "--yes", ...more]);
    for (const seconds of ["60", "90"])
      expect(await writeVibe("--timeout", seconds)).toMatchObject({ code: 0 });
    expect((await writeVibe("--timeout", "90")).out).toContain("Nothing to change");
    const [first, before = "", after = "", ...more] = (await readFile(file, "utf8")).split("\n\n");
    expect([`${first}\n`, more]).toEqual([theirs, []]);
    expect(before).toMatch(
      /^\[\[hooks]]\nname = "countersign-pre_tool-[0-9a-f]{16}"\ntype = "pre_tool"\ncommand = ".*--dialect vibe --timeout 90 .*exit 2; }"\ntimeout = 120\nstrict = true$/,
    );
    expect(after).toMatch(/\ntype = "post_tool"\n[\s\S]*\ntimeout = 120\n$/);
    const command = JSON.parse(/^command = (.*)$/m.exec(before)?.[1] ?? "");
    expect(await runInstalled(command, "{}")).toMatchObject({
      code: 2,
      err: expect.stringContaining("event"),
    });
    const { out } = await runProgram(process.execPath, [hookProgram, "doctor"], { env: { HOME: home } });
    expect(out).toMatch(/^ok {7}Mistral Vibe: a hook in .*hooks\.toml$/m);
    expect(out).toMatch(/^ok {7}Mistral Vibe: started as Mistral Vibe starts it, it blocks a call$/m);
    expect(out).toContain(
      'Mistral Vibe: another hook could change a call that was approved: post_tool: make "lint"',
    );
    await writeFile(file, `hooks = []\n`);
    expect(await writeVibe()).toMatchObject({ code: 2, err: expect.stringContaining("not plain TOML") });
    await rm(inHome(".vibe"), { recursive: true });
  });

  it("leaves a status line of the user's own, and has none where nobody could read what it shows", async () => {
    const file = inHome("own-line.json");
    await writeFile(file, '{"statusLine":{"type":"command","command":"date"}}');
    await install(["--settings", file, "--yes"]);
    expect((await readJson("own-line.json")).statusLine.command).toBe("date");
    for (const more of [["--run-as", "gate"], ["--record"]]) {
      await install(["--settings", inHome("no-line.json"), "--yes", ...more]);
      expect(await readJson("no-line.json"), more.join(" ")).not.toHaveProperty("statusLine");
      await rm(inHome("no-line.json"));
    }
  });

  it("says which tools ask nobody, and where --defer defers nothing", async () => {
    const { out } = await install(["--match", "Bash", "--defer", "--settings", inHome("reach.json")]);
    const [, unmatched = ""] = /nobody is asked for these tools of Claude Code: (.*);/.exec(out) ?? [];
    expect(unmatched.split(", ")).toEqual(expect.arrayContaining(["Write", "Edit", "WebFetch"]));
    expect(unmatched).not.toMatch(/Bash|Monitor|PowerShell/);
    expect(out).toContain("In a terminal or a subagent, a call that nobody has decided in time is denied");
    expect((await install(["--settings", inHome("reach.json")])).out).not.toContain("Not matched");
  });

  it("installs nothing before a call if it only records, and takes an earlier hook away", async () => {
    const settings = ["--settings", inHome("recorded.json"), "--yes"];
    const listEvents = async () =>
      Object.entries((await readJson("recorded.json")).hooks).map(([event, list]) => [
        event,
        (list as object[]).length,
      ]);
    const only = await install(["--record", ...settings]);
    expect(only.out).toMatch(/Nobody is asked about any call.*\n\nEvery call is recorded\./);
    expect(await listEvents()).toEqual([
      ["PostToolUse", 1],
      ["PostToolUseFailure", 1],
      ["Stop", 1],
    ]);
    await install(["--record", "Bash", "--before", ...settings]);
    const both = await install(["--record", "--ask", "Bash", ...settings]);
    expect(both.out).not.toContain("Nobody is asked about any call");
    expect((await listEvents()).map(([, count]) => count)).toEqual([1, 1, 1, 1]);
    expect((await install(["--record", "Bash", ...settings])).out).toMatch(
      /Neither asked about nor recorded: Write/,
    );
    expect((await readJson("recorded.json")).hooks.PreToolUse).toEqual([]);
  });

  it("writes hooks of type http that block if nobody answers, and says how to start them", async () => {
    const settings = ["--port", "9999", "--settings", inHome("http.json"), "--yes"];
    const { out } = await install(settings);
    expect(out).toMatch(
      /countersign-hook\.cjs serve --port 9999 --url \S+ --key-file \S+ --agent coder --output \S+ -- claude\n/,
    );
    expect(out).toContain('$(cat ~/.countersign/run/token-9999)" claude\n');
    const file = inHome("http.json");
    const [{ hooks }] = (await readJson("http.json")).hooks.PreToolUse;
    expect(hooks).toEqual([
      {
        type: "http",
        url: "http://127.0.0.1:9999/",
        headers: { Authorization: "Bearer $COUNTERSIGN_HOOK_TOKEN" },
        allowedEnvVars: ["COUNTERSIGN_HOOK_TOKEN"],
        timeout: 600,
        onFailure: "block",
      },
    ]);
    expect((await install(settings)).out).toContain("Nothing to change");
    await writeFile(
      file,
      (await readFile(file, "utf8")).replaceAll(',\n            "onFailure": "block"', ""),
    );
    const checked = await runHookProcess(["install", "--check", "--settings", file], "", {
      cwd: home,
      env: { HOME: home },
    });
    expect(checked).toMatchObject({
      code: 2,
      err: expect.stringContaining("every call runs while nobody answers"),
    });
    expect(await install(["--port", "9999", "--dialect", "codex"])).toMatchObject({ code: 2, out: "" });
  });

  const hasSystemd = spawnSync("systemd-analyze", ["--version"]).status === 0;
  it.skipIf(!hasSystemd)(
    "writes a service of the user's session that starts the helper, as systemd reads it",
    async () => {
      const settings = ["--port", "9999", "--settings", inHome("unit.json"), "--yes"];
      const { out } = await install([...settings, "--requester", 'a "b" \\ 5%h $HOME']);
      expect(out).toContain("systemctl --user enable --now countersign-hook-9999\n");
      const unit = inHome(".config/systemd/user/countersign-hook-9999.service");
      expect(await readFile(unit, "utf8")).toMatch(
        /^ExecStart=\S+ \S+countersign-hook\.cjs serve --port 9999 --url \S+ .* --requester "a \\"b\\" \\\\ 5%%h \$\$HOME" --output \S+$/m,
      );
      const verified = await runProgram("systemd-analyze", ["verify", unit], { env: { HOME: home } });
      expect(verified).toEqual({ code: 0, out: "" });
    },
  );

  it("writes one for launchd", async () => {
    const argv = [
      "hook",
      "install",
      "--agent",
      "coder",
      "--key-file",
      keyFile,
      "--port",
      "9999",
      "--requester",
      "a<b",
      "--yes",
    ];
    const machine = { ...nodeMachine(undefined), home, platform: "darwin" };
    const io = { machine, serviceUrl: around.service.base, hookPrograms: { "countersign-hook.cjs": "" } };
    const { out } = await runClientHere([...argv, "--to", inHome("darwin")], io);
    expect(out).toMatch(/launchctl bootstrap gui\/\$\(id -u\) \S+\.plist\n/);
    const plist = await readFile(inHome("Library/LaunchAgents/dev.countersign.hook.9999.plist"), "utf8");
    const words = [...plist.matchAll(/^ {6}<string>(.*)<\/string>$/gm)].map(([, word]) => word);
    expect(words.slice(1, 5)).toEqual([inHome("darwin/countersign-hook.cjs"), "serve", "--port", "9999"]);
    expect(words).toContain("a&lt;b");
    expect(plist).toContain("<string>dev.countersign.hook.9999</string>");
  });

  describe("and hook uninstall", () => {
    const prepare = async (name: string, platform = "linux") => {
      const own = path.join(around.home, `taken-out-${name}`);
      await mkdir(own);
      const machine = { ...nodeMachine(undefined), home: own, platform };
      const hookPrograms = Object.fromEntries(hookFiles.map((file) => [file, "// program"]));
      const io = { machine, serviceUrl: around.service.base, hookPrograms };
      const runHook = (...argv: string[]) => runClientHere(["hook", ...argv], io);
      const listAll = async () =>
        (await readdir(own, { recursive: true, withFileTypes: true }))
          .filter((entry) => entry.isFile())
          .map((entry) => path.relative(own, path.join(entry.parentPath, entry.name)));
      const begin = (...argv: string[]) =>
        runHook("install", "--agent", "coder", "--key-file", keyFile, "--yes", ...argv);
      return { own, runHook, listAll, begin };
    };

    it.each(dialectNames)("leave nothing behind of %s", async (dialect) => {
      const { runHook, listAll, begin } = await prepare(dialect);
      expect(await begin("--dialect", dialect)).toMatchObject({ code: 0 });
      const installed = await listAll();
      expect(installed.length).toBeGreaterThanOrEqual(3);
      const shown = await runHook("uninstall", "--dialect", dialect);
      expect(shown.out).toContain("Nothing is changed yet.");
      expect(await listAll()).toEqual(installed);
      const ended = await runHook("uninstall", "--dialect", dialect, "--yes");
      expect(ended).toMatchObject({ code: 0, out: expect.stringContaining("Uninstalled.") });
      expect(await listAll()).toEqual([]);
      expect((await runHook("uninstall", "--dialect", dialect)).out).toMatch(/^Nothing to take out/);
    });

    it.each([
      ["claude", ".claude/settings.json", { hooks: { Stop: [{ hooks: [{ command: "date" }] }], Other: [] } }],
      ["claude-line", ".claude/settings.json", { statusLine: { type: "command", command: "date" } }],
      ["qwen", ".qwen/settings.json", { ui: { theme: "dark" } }],
      ["vibe", ".vibe/hooks.toml", '[[hooks]]\nname = "lint"\ntype = "post_tool"\ncommand = "make"\n'],
      ["copilot", ".copilot/settings.json", { model: "x" }],
    ])("give %s back the settings that others wrote", async (name, file, settings) => {
      const { own, runHook, listAll, begin } = await prepare(`others-${name}`);
      const text = typeof settings === "string" ? settings : `${JSON.stringify(settings, null, 2)}\n`;
      await mkdir(path.dirname(path.join(own, file)));
      await writeFile(path.join(own, file), text);
      const dialect = ["--dialect", name.replace(/-.*/, "")];
      await begin(...dialect);
      expect(await readFile(path.join(own, file), "utf8")).not.toBe(text);
      await runHook("uninstall", ...dialect, "--yes");
      expect(await readFile(path.join(own, file), "utf8")).toBe(text);
      expect(await listAll()).toEqual([file]);
    });

    it.each([
      ["claude", ".claude/settings.json", "{}\n"],
      ["vibe", ".vibe/hooks.toml", ""],
    ])("empty the settings of %s where a link leads to them", async (dialect, name, left) => {
      const { own, runHook, begin } = await prepare(`link-${dialect}`);
      const [file, target] = [path.join(own, name), path.join(own, "dotfile")];
      await begin("--dialect", dialect);
      await rename(file, target);
      await symlink(target, file);
      await runHook("uninstall", "--dialect", dialect, "--yes");
      expect([await readFile(target, "utf8"), await readlink(file)]).toEqual([left, target]);
      expect((await runHook("uninstall", "--dialect", dialect)).out).toMatch(/^Nothing to take out/);
    });

    it("leave a plugin that its owner extended, and its programs", async () => {
      const { own, runHook, listAll, begin } = await prepare("extended");
      await begin("--dialect", "opencode");
      const [file, installed] = [path.join(own, ".config/opencode/plugin/countersign.js"), await listAll()];
      const text = `${await readFile(file, "utf8")}export const Mine = async () => ({});\n`;
      await writeFile(file, text);
      expect(await runHook("uninstall", "--dialect", "opencode", "--yes")).toMatchObject({
        code: 2,
        err: expect.stringContaining("countersign.js is not what install writes, so nothing was changed"),
      });
      expect(await readFile(file, "utf8")).toBe(text);
      expect(await listAll()).toEqual(installed);
    });

    it("leave a comment that follows the hook", async () => {
      const { own, runHook, begin } = await prepare("comment");
      await begin("--dialect", "vibe");
      const file = path.join(own, ".vibe/hooks.toml");
      const others = '# mine\n[[hooks]]\nname = "lint"\ntype = "post_tool"\ncommand = "make"\n';
      await writeFile(file, `${await readFile(file, "utf8")}\n${others}`);
      await runHook("uninstall", "--dialect", "vibe", "--yes");
      expect(await readFile(file, "utf8")).toBe(others);
    });

    it("leave what a person changed, and programs that another agent starts", async () => {
      const { own, runHook, listAll, begin } = await prepare("changed");
      await begin();
      await begin("--dialect", "gemini");
      const file = path.join(own, ".claude/settings.json");
      const { statusLine, ...others } = JSON.parse(await readFile(file, "utf8"));
      const changed = { ...statusLine, refreshInterval: 9 };
      await writeFile(file, JSON.stringify({ ...others, statusLine: changed }));
      const { out } = await runHook("uninstall", "--yes");
      expect(JSON.parse(await readFile(file, "utf8"))).toEqual({ statusLine: changed });
      expect(out).toMatch(/^A status line that isn't install's own stays in \S+$/m);
      expect(out).toMatch(/^The hook's program stays in \S+: \S+\/\.gemini\/settings\.json uses it\.$/m);
      expect(await listAll()).toEqual(expect.arrayContaining(hookFiles.map((one) => `.countersign/${one}`)));
      await writeFile(file, `// mine\n${JSON.stringify(others)}`);
      expect(await runHook("uninstall", "--yes")).toMatchObject({
        code: 2,
        err: expect.stringContaining("take the hook out of it by hand"),
      });
    });

    it.each([
      ["linux", ".config/systemd/user/countersign-hook-9999.service"],
      ["darwin", "Library/LaunchAgents/dev.countersign.hook.9999.plist"],
    ])("of a port have a service of its own on %s, which goes too", async (platform, file) => {
      const { own, runHook, listAll, begin } = await prepare(platform, platform);
      await begin("--port", "9999");
      await begin("--port", "9998", "--settings", path.join(own, "second.json"));
      expect(await listAll()).toEqual(expect.arrayContaining([file, file.replace("9999", "9998")]));
      if (platform === "linux") {
        const wants = path.join(own, ".config/systemd/user/default.target.wants");
        await mkdir(wants);
        await symlink(path.join(own, file), path.join(wants, path.basename(file)));
        expect(await runHook("uninstall", "--yes")).toMatchObject({
          code: 2,
          err: expect.stringContaining("first run systemctl --user disable --now countersign-hook-9999"),
        });
        await rm(wants, { recursive: true });
      }
      const { out } = await runHook("uninstall", "--yes");
      expect(out.includes("launchctl bootout")).toBe(platform === "darwin");
      expect(await listAll()).not.toContain(file);
      expect(await listAll()).toContain(file.replace("9999", "9998"));
      const programs = hookFiles.map((one) => `.countersign/${one}`);
      expect(await listAll(), "the other service starts them").toEqual(expect.arrayContaining(programs));
      const moved = await begin("--port", "9997", "--settings", path.join(own, "second.json"));
      expect(moved.err).toContain("The helper of the former port goes on until you end it: ");
      expect(await listAll()).not.toContain(file.replace("9999", "9998"));
      expect(await listAll()).toContain(file.replace("9999", "9997"));
    });
  });

  it("leaves a file of the status line with comments as it is, and installs the hook", async () => {
    const own = path.join(around.home, "commented");
    const file = path.join(own, ".copilot/settings.json");
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, "{ // mine\n}");
    const machine = { ...nodeMachine(undefined), home: own };
    const io = { machine, serviceUrl: around.service.base, hookPrograms: { "countersign-hook.cjs": "" } };
    const options = ["--agent", "coder", "--key-file", keyFile, "--dialect", "copilot", "--yes"];
    const ended = await runClientHere(["hook", "install", ...options, "--to", path.join(own, "to")], io);
    expect(ended).toMatchObject({ code: 0, err: expect.stringContaining("no status line was added") });
    expect(ended.out, "checks the agent that was installed").toMatch(/--check --dialect copilot$/m);
    expect(ended.err).toContain(`see ${around.service.base}/docs/hook`);
    expect(await readFile(file, "utf8")).toBe("{ // mine\n}");
  });

  it.each([
    [["--dialect", "gemini", "--match", "Write"], "matches no tool with --dialect gemini"],
    [["--defer", "--run-as", "gate"], "--defer doesn't work with --run-as"],
    [["--dialect", "opencode", "--system"], "has no settings for the whole machine"],
  ])("is refused with %j", async (argv, why) => {
    expect(await install(argv)).toMatchObject({ code: 2, out: "", err: expect.stringContaining(why) });
  });

  it("is refused in a project, with words", async () => {
    const inProject = inHome("project", "deep", "tools");
    const refusal = { code: 2, out: "", err: expect.stringContaining("choose another place") };
    expect(await install(["--to", inProject, "--yes"])).toEqual(refusal);
    await symlink(inHome("project"), inHome("link"));
    expect(await install(["--to", inHome("link/tools"), "--yes"]), "by a link").toEqual(refusal);
    const plain = inHome("plain");
    await mkdir(plain);
    expect(await install(["--to", "tools", "--yes"], plain), "in the working folder").toEqual(refusal);
    await copyFile(keyFile, inHome("project", "hook.key"));
    expect(await install(["--key-file", inHome("project", "hook.key")])).toMatchObject({ code: 2 });
    const given = ["install", "--agent", "a", "--key-file", inHome("project", "hook.key"), "--yes"];
    const env = { HOME: home, COUNTERSIGN_URL: around.service.base };
    expect(await runHookProcess(given, "", { cwd: home, env }), "a key in a project").toEqual(refusal);
    await expect(stat(inProject)).rejects.toThrow();
  });

  it.each([
    ["comments", '// mine\n{"hooks": {}}'],
    ["a list", "[]"],
    ["hooks of another kind", '{"hooks": []}'],
    ["an event of another kind", '{"hooks": {"PreToolUse": {}}}'],
  ])("leaves settings alone that it doesn't understand: %s", async (_, text) => {
    const file = inHome("odd.json");
    await writeFile(file, text);
    expect(await install(["--settings", file, "--yes"])).toMatchObject({ code: 2, out: "" });
    expect(await readFile(file, "utf8")).toBe(text);
  });

  it("writes through a link, and warns of a key that others can read", async () => {
    await writeFile(inHome("real.json"), "{}");
    await symlink(inHome("real.json"), inHome("linked.json"));
    await chmod(keyFile, 0o644);
    const ended = await install(["--settings", inHome("linked.json"), "--yes"]);
    await chmod(keyFile, 0o600);
    expect(ended.err).toContain(`chmod 600 ${keyFile}`);
    expect((await readJson("real.json")).hooks).toHaveProperty("PreToolUse");
  });

  it("runs as another user by sudo, for exactly this command", async () => {
    const ended = await install([
      "--run-as",
      "gate",
      "--match",
      "Bash(*)",
      "--requester",
      String.raw`a \b,c"d`,
      "--settings",
      inHome("as.json"),
      "--yes",
    ]);
    const rule = /AGENT ALL=\(gate\) NOPASSWD: (.*)\n/.exec(ended.err)?.[1];
    expect(rule).toContain(String.raw`--url http\://`);
    expect(rule, "a bare * would allow any other option").toContain(String.raw`--match Bash(\*)`);
    expect(rule, "visudo reads it so").toContain(String.raw`--requester a\ \\\\b\,c"d`);
    const [{ hooks }] = (await readJson("as.json")).hooks.PreToolUse;
    expect(hooks[0].command).toMatch(
      /^sudo -n -u gate -- \S+ \S+countersign-hook\.cjs .*--match 'Bash\(\*\)' .*\|\| \{ echo .*exit 2; \}$/,
    );
  });
});

describe("the installed hook", () => {
  let command: string;
  beforeAll(async () => {
    await install(["--yes", "--settings", inHome("agent.json")]);
    command = (await readJson("agent.json")).hooks.PreToolUse[0].hooks[0].command;
  });

  const newProjectCall = () => {
    const { before, event } = newCall(inHome("project"));
    return { before, after: event("PostToolUse") };
  };

  it("asks and attests with the key of its file, whatever is in the folder", async () => {
    // A hook with a relative path would run this instead.
    for (const name of hookFiles) await writeFile(inHome("project", name), "process.exit(0)");
    const { before, after } = newProjectCall();
    const running = runInstalled(command, before);
    await approveUnproven(around.test, (await openNext(around.test, around.key, "coder")).requestId);
    expect(answerOf(await running).hookSpecificOutput.permissionDecision).toBe("allow");
    expect(await runInstalled(command, after)).toMatchObject({
      code: 0,
      err: expect.stringContaining("Attested"),
    });
  });

  it("blocks if the program is gone", async () => {
    const { before } = newProjectCall();
    const gone = command.replace("countersign-hook.cjs", "gone.cjs");
    expect(await runInstalled(gone, before)).toMatchObject({
      code: 2,
      out: "",
      err: expect.stringContaining(lastWords),
    });
  });

  it("refuses to run, or to use a key, from inside the working folder", async () => {
    const { before } = newProjectCall();
    const tools = inHome("project", "tools");
    await mkdir(tools);
    for (const name of hookFiles) await copyFile(`dist/${name}`, path.join(tools, name));
    const refusal = { code: 2, out: "", err: expect.stringContaining("inside the agent's working folder") };
    const misplaced = command.replace(inHome(".countersign"), tools);
    expect(await runInstalled(misplaced, before)).toEqual(refusal);
    const { before: elsewhere } = newCall(tools);
    expect(await runInstalled(misplaced, elsewhere, home), "by the event's folder").toEqual(refusal);
    const named = `CLAUDE_PROJECT_DIR=${inHome("project")} ${misplaced}`;
    expect(await runInstalled(named, newCall("/").before, "/usr"), "by the agent's variable").toEqual(
      refusal,
    );
    await copyFile(keyFile, path.join(tools, "hook.key"));
    expect(await runInstalled(command.replace(keyFile, path.join(tools, "hook.key")), before)).toEqual(
      refusal,
    );
  });
});

describe("hook install --check", () => {
  /** Runs the check, and hands the commands that it prints to `agent`. */
  const check = (agent: (touches: Record<string, string>) => Promise<unknown>, argv: string[] = []) =>
    runHookProcess(["install", "--check", ...argv], "", {
      cwd: inHome("project"),
      env: { HOME: home },
      // The program of the installation, which belongs to the same user.
      onStart: (child) => {
        let [out, isDone] = ["", false];
        child.stdout?.on("data", (text: string) => {
          out += text;
          const touches = Object.fromEntries(
            [...out.matchAll(/^ {2}(\w+): (touch .*)$/gm)].map(([, tool, touch]) => [tool, touch]),
          );
          if (!out.endsWith("\n\n") || Object.keys(touches).length === 0 || isDone) return;
          isDone = true;
          void agent(touches);
        });
      },
    });
  const shell = (touch = "") => runInstalled(touch, "");
  const eventFor = (tool_name: string, touch = "") =>
    newCall(inHome("project"), touch).eventWith("PreToolUse", { tool_name });
  /** Calls each of its shells as an agent does. */
  const callAll = async (touches: Record<string, string>, hook = command) => {
    const ended: Ended[] = [];
    for (const [tool, touch] of Object.entries(touches))
      ended.push(await runInstalled(hook, eventFor(tool, touch)));
    return ended;
  };
  let command: string;
  beforeAll(async () => {
    await install(["--yes", "--match", "Bash", "--settings", inHome("check.json")]);
    command = (await readJson("check.json")).hooks.PreToolUse[0].hooks[0].command;
  });

  it("says that a hook is live which blocks a call of each shell, asking nobody", async () => {
    let answers: Ended[] = [];
    const ended = await check(async (touches) => {
      expect(Object.keys(touches)).toEqual(["Bash", "Monitor", "PowerShell"]);
      answers = await callAll(touches);
    });
    expect(ended).toMatchObject({
      code: 0,
      out: expect.stringContaining("it blocked Bash, Monitor, PowerShell"),
    });
    expect(ended.out).toMatch(/^Restart Claude Code first/);
    expect(ended.err).toMatch(/^Waiting for Bash, Monitor, PowerShell: 570 seconds left\.\n/m);
    for (const answer of answers) expect(answerOf(answer).hookSpecificOutput.permissionDecision).toBe("deny");
    const { body } = await around.test.call("GET", "/v1/authorizations?status=pending", { key: around.key });
    expect(body.authorizations).toEqual([]);
  });

  it("says which shells made no call, and which ask nobody", async () => {
    const other = command.replace("--match Bash", "--match Write");
    const ended = await check(
      (touches) => callAll({ Bash: touches["Bash"] ?? "" }, other),
      ["--timeout", "10"],
    );
    expect(ended).toMatchObject({ code: 0, out: expect.stringContaining("it blocked Bash, and") });
    expect(ended.err).toContain("Not proven for Monitor, PowerShell");
    expect(ended.err).toContain("real calls of Bash ask nobody");
  });

  it("says that it isn't if the command runs unasked, or all the same", async () => {
    const unasked = await check(({ Monitor }) => shell(Monitor));
    expect(unasked).toMatchObject({ code: 2, err: expect.stringContaining("NOT live: the command ran") });
    const ignored = await check(async (touches) => {
      await callAll({ Bash: touches["Bash"] ?? "" });
      await shell(touches["Bash"]);
    });
    expect(ignored).toMatchObject({ code: 2, err: expect.stringContaining("NOT live: the hook said no") });
  });

  it("says that nothing is proven if no call comes", async () => {
    const ended = await check(async () => undefined, ["--timeout", "1"]);
    expect(ended).toMatchObject({ code: 2, err: expect.stringContaining("Not proven: no such call") });
  });

  it("says so if a real call could not ask, or if the key can do more than it needs", async () => {
    const without = await check((touches) => callAll(touches, command.replace(keyFile, inHome("none.key"))));
    expect(without).toMatchObject({ code: 2, err: expect.stringContaining("could not ask a human") });
    const full = inHome("full.key");
    await writeFile(full, around.key, { mode: 0o600 });
    const broad = await check((touches) => callAll(touches, command.replace(keyFile, full)));
    expect(broad).toMatchObject({ code: 0, err: expect.stringContaining("can do more than it needs") });
    await rm(full);
  });

  it("tells of the key its scopes alone, and only in a folder of the installer", async () => {
    const folder = `/tmp/countersign-check-${"0".repeat(31)}1`;
    await mkdir(folder);
    const touch = `touch ${folder}/ran-Bash`;
    await runInstalled(command, eventFor("Bash", touch));
    expect(JSON.parse(await readFile(`${folder}/blocked-Bash`, "utf8"))).toEqual({
      scopes: ["hook"],
      isAsked: true,
    });
    await rm(folder, { recursive: true });
    await mkdir(inHome("agents"));
    await symlink(inHome("agents"), folder);
    const refused = await runInstalled(command, eventFor("Bash", touch));
    await rm(folder);
    const { permissionDecision, permissionDecisionReason } = answerOf(refused).hookSpecificOutput;
    expect([permissionDecision, permissionDecisionReason]).toEqual([
      "deny",
      expect.stringContaining("as the user who installed"),
    ]);
    await expect(stat(inHome("agents", "blocked-Bash"))).rejects.toThrow();
  });

  it("lists other hooks for the same events, and ours if a failure of it lets a call run", async () => {
    const handlers = [
      { type: "command", command: "rewrite-commands" },
      { type: "command", command: command, timeout: 600 },
    ];
    await mkdir(inHome("project", ".claude"), { recursive: true });
    const file = inHome("project", ".claude", "settings.local.json");
    await writeFile(file, JSON.stringify({ hooks: { PreToolUse: [{ hooks: handlers }], Stop: [] } }));
    const { err } = await check(async () => undefined, ["--timeout", "1"]);
    await rm(inHome("project", ".claude"), { recursive: true });
    expect(err).toContain(`${file}  PreToolUse: rewrite-commands`);
    expect(err).toContain(`in ${file} the hook has no "onFailure": "block"`);
    const without = await check(
      async () => undefined,
      ["--timeout", "1", "--settings", inHome("check.json")],
    );
    expect(without.err).not.toContain("onFailure");
  });
});

describe("countersign doctor", () => {
  const examine = () =>
    runProgram(process.execPath, [hookProgram, "doctor"], { env: { HOME: inHome("examined") } });
  const settings = inHome.bind(null, "examined/.claude/settings.json");
  const change = async (from: string, to: string, file = settings()) => {
    const text = await readFile(file, "utf8");
    expect(text).toContain(from);
    await writeFile(file, text.replaceAll(from, to));
  };
  beforeEach(async () => {
    // A helper of the last test may still write there.
    await rm(inHome("examined"), { recursive: true, force: true, maxRetries: 5 });
    await mkdir(inHome("examined"));
  });
  const installThere = (argv: string[]) =>
    runHookProcess(["install", "--agent", "examined", "--key-file", keyFile, "--yes", ...argv], "", {
      cwd: home,
      env: { HOME: inHome("examined"), COUNTERSIGN_URL: around.service.base },
    });

  it("says what an installed hook sees, and who can read its key", async () => {
    expect((await examine()).out).toMatch(/^warning {2}no agent of this user or machine has the hook/);
    await installThere(["--ask", "Bash"]);
    await installThere(["--ask", "Bash", "--dialect", "codex"]);
    const { code, out } = await examine();
    expect(code).toBe(0);
    expect(out).toMatch(/^warning {2}Codex skips a new hook until you trust it/m);
    expect(out).toMatch(/^ok {7}Claude Code: a hook in .*settings\.json$/m);
    expect(out).toMatch(/^ok {7}Claude Code: started as Claude Code starts it, it blocks a call$/m);
    expect(out).toMatch(/^warning {2}Claude Code: pass unseen: Write, .*WebFetch/m);
    expect(out).toMatch(/^ok {7}\S+countersign-hook\.cjs is of this version$/m);
    expect(out).toMatch(/^warning {2}\S+hook\.key can be read by this user/m);
    expect(out).toMatch(/^ok {7}http:\S+ answers$/m);
    expect(out).not.toMatch(/^fault/m);
    const lines = out.trim().split("\n");
    expect(new Set(lines).size, "both agents have one program, key and service").toBe(lines.length);
    expect(lines.slice(-3)).toEqual([
      expect.stringContaining("countersign-hook.cjs is of this version"),
      expect.stringContaining("hook.key can be read"),
      expect.stringContaining("answers"),
    ]);
  });

  it("names a key once if only one of its hooks records, and what it lacks for that", async () => {
    await installThere(["--ask", "Bash"]);
    await installThere(["--ask", "Bash", "--record", "--dialect", "codex"]);
    const { out } = await examine();
    expect(out.match(/hook\.key can be read/g)).toHaveLength(1);
    expect(out.match(/lacks the permission record/g)).toHaveLength(1);
  });

  it("says that a project switches hooks off, or sets variables for them", async () => {
    await installThere(["--ask", "Bash"]);
    const project = inHome("examined/project");
    await mkdir(`${project}/.claude`, { recursive: true });
    const file = `${project}/.claude/settings.local.json`;
    await writeFile(file, '{"disableAllHooks":true,"env":{"NODE_OPTIONS":"--require ./x.js","LANG":"C"}}');
    const env = { HOME: inHome("examined") };
    const { code, out } = await runProgram(process.execPath, [hookProgram, "doctor"], { cwd: project, env });
    expect(code).toBe(1);
    expect(out).toMatch(/^fault {4}Claude Code: \S+settings\.local\.json switches all hooks off$/m);
    expect(out).toMatch(
      /^warning {2}Claude Code: \S+settings\.local\.json sets NODE_OPTIONS for the hook too/m,
    );
    expect(out).not.toContain("LANG");
  });

  it("warns of a clock that is wrong", async () => {
    await installThere(["--ask", "Bash"]);
    const server = createServer((_, response) => {
      response.setHeader("date", new Date(Date.now() - 3_600_000).toUTCString()).end("{}");
    });
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    await change(around.service.base, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const { out } = await examine();
    server.close();
    expect(out).toMatch(/^warning {2}this machine's clock and the service's differ by 36\d\d seconds$/m);
  });

  it.each<[string, string[], () => Promise<unknown>, RegExp]>([
    [
      "its program is gone",
      [],
      () => rm(inHome("examined/.countersign/countersign-hook.cjs")),
      /isn't there, so every call is blocked/,
    ],
    [
      "its program fails",
      [],
      () => writeFile(inHome("examined/.countersign/countersign-hook.cjs"), "process.exit(1)"),
      /doesn't answer a call: ended with 2: countersign: this hook failed/,
    ],
    [
      "it blocks nothing",
      [],
      async () => {
        await writeFile(inHome("examined/.countersign/countersign-hook.cjs"), "process.exit(1)");
        await change("; exit 2; }", "; exit 0; }");
      },
      /doesn't answer a call: ended with 0: countersign: this hook failed/,
    ],
    [
      "it fails open",
      [],
      () => change('"onFailure": "block"', '"onFailure": "continue"'),
      /has no "onFailure": "block"/,
    ],
    [
      "its agent ends it before anyone can decide",
      [],
      () => change('"timeout": 600', '"timeout": 300'),
      /Claude Code: ends the hook while it waits: timeout in \S+ is 300, not 570 or more/,
    ],
    [
      "its seconds are milliseconds to its agent",
      ["--dialect", "gemini"],
      () => change('"timeout": 600000', '"timeout": 600', inHome("examined/.gemini/settings.json")),
      /Gemini CLI: ends the hook while it waits: timeout in \S+ is 600, not 570000 or more/,
    ],
    [
      "its key is gone",
      [],
      () => change("hook.key", "none.key"),
      /none\.key can't be read, so every call is blocked/,
    ],
    ["the key may not record", ["--record"], async () => undefined, /lacks the permission record/],
    ["nothing is asked before a call", [], () => change('"PreToolUse"', '"PreTool"'), /nothing is asked/],
    [
      "the service is away",
      [],
      () => change(around.service.base, "http://127.0.0.1:9"),
      /127\.0\.0\.1:9: fetch failed: ./,
    ],
    ["a hook of type http has no helper", ["--port", "9"], async () => undefined, /nothing answers at .*:9/],
  ])("names a fault: %s", async (_, argv, spoil, said) => {
    await installThere(argv);
    await spoil();
    const { code, out } = await examine();
    expect(code).toBe(1);
    expect(out.split("\n").filter((one) => one.startsWith("fault"))).toEqual([expect.stringMatching(said)]);
  });
});

describe("the guide", () => {
  const guide = readFile("components/guides/content/hook.md", "utf8");

  it("shows what is written, and where", async () => {
    const fence = /into `~\/\.claude[^`]*[\s\S]*?```json\n([\s\S]*?)```/.exec(await guide)?.[1] ?? "{}";
    const { hooks } = JSON.parse(fence);
    await install(["--ask", "Bash", "--yes", "--settings", inHome("guide.json")]);
    const written = JSON.stringify((await readJson("guide.json")).hooks.PreToolUse)
      .replace(process.execPath, "/usr/bin/node")
      .replace(keyFile, "/home/you/.config/countersign/hook.key")
      .replaceAll(home, "/home/you")
      .replace(around.service.base, "{base}")
      .replace("--agent coder", "--agent my-coder");
    expect(JSON.stringify(hooks.PreToolUse)).toBe(written);
  });

  it("asks for all of a tool in its example, and names what a pattern can't find", async () => {
    expect(await guide).not.toMatch(/hook install[^\n]*--(?:ask|match) '?\w+\(/);
    const [, found = "", missed = ""] =
      /`Bash\(git push\*\)` finds (.*), and doesn't find (.*), a script/.exec(await guide) ?? [];
    const commandsIn = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, one = ""]) => one);
    const isFound = (command: string) =>
      needsHuman([readPattern("Bash(git push*)", "claude")], "Bash", { command });
    expect(commandsIn(missed).length).toBeGreaterThan(4);
    expect(commandsIn(found).filter((one) => !isFound(one))).toEqual([]);
    expect(commandsIn(missed).filter(isFound)).toEqual([]);
  });
});
