import { expect, it } from "vitest";
import { deriveTitle, listRun } from "./title";

const bash = { action: "Use the tool Bash", tool: "Bash" };

it.each([
  [{ description: "Run tests", command: "npm test" }, "npm test"],
  [{ command: "\ncd app\nnpm test\n" }, "cd app …"],
  [{ "command (1 of 2)": "make all", "command (2 of 2)": "x" }, "make all"],
  [{ file_path: "/srv/app/main.ts" }, "/srv/app/main.ts"],
  [{ amount: "5" }, "5"],
  [
    { command: "curl -u x --token abcd1234efgh https://example.com" },
    "curl -u x --token ••• https://example.com",
  ],
  [{ command: `echo ${"word ".repeat(30)}` }, `echo ${"word ".repeat(14)}word …`],
  [{ command: '["bash","-lc","git push"]' }, "bash -lc git push"],
  [{ command: "*** Begin Patch\n*** Update File: /srv/a.ts\n@@" }, "Update File: /srv/a.ts …"],
  [{ command: "str_replace", path: "/srv/a.ts", old_str: "1", new_str: "2" }, "str_replace /srv/a.ts"],
  [{ CommandLine: "git push", Cwd: "/srv" }, "git push"],
  [{ chars: "yes", session_id: "3" }, "yes"],
  [{ filePath: "Makefile", content: "x" }, "Makefile"],
  [{ TargetFile: "/srv/a.ts", Instruction: "Fix it" }, "/srv/a.ts"],
  [{ url: "https://example.com/a", file_path: "/tmp/a" }, "https://example.com/a"],
  [{ command: " " }, bash.action],
  [{}, bash.action],
] as [Record<string, string>, string][])("%j says %j", (context, title) => {
  expect(deriveTitle({ ...bash, context })).toBe(title);
});

it("is the action wherever that says more than the tool, or nothing else is shown", () => {
  const context = { command: "npm test" };
  expect(deriveTitle({ action: "Deploy", tool: "Bash", context })).toBe("Deploy");
  expect(deriveTitle({ action: "Use the tool Bash", tool: null, context })).toBe("Use the tool Bash");
  expect(deriveTitle({ ...bash, context: null })).toBe(bash.action);
});

it.each([
  [{ new_string: "2", old_string: "1", file_path: "a" }, ["file_path", "old_string", "new_string"]],
  [{ filePath: "a", newString: "2", oldString: "1" }, ["filePath", "oldString", "newString"]],
  [{ content: "x", path: "a" }, ["path", "content"]],
  [{ command: "create", path: "a", file_text: "x" }, ["command", "path", "file_text"]],
  [{ "command (01/2)": "make", "command (02/2)": "all", cwd: "/srv" }, ["command (01/2)"]],
  [{ url: "https://example.com", prompt: "Sum up" }, ["url"]],
  [{ pattern: "TODO", path: "src" }, ["path", "pattern"]],
  [{ message: "Hi", to: "ops" }, ["message"]],
  [{ amount: "5", to: "ops" }, []],
] as [Record<string, string>, string[]][])("%j runs %j", (context, names) => {
  expect(listRun({ ...bash, context })).toEqual(names);
  expect(listRun({ ...bash, action: "Deploy", context })).toEqual([]);
});
