import { expect, it } from "vitest";
import {
  deriveTitle,
  describeBriefly,
  describeRunBeside,
  findChange,
  findTitle,
  listRun,
  listRunBeside,
} from "./title";

const long = `echo ${"word ".repeat(30)}`.trim();
const bash = { action: "Use the tool Bash", tool: "Bash" };

it.each([
  [{ description: "Run tests", command: "npm test" }, "npm test"],
  [{ command: "\ncd app\nnpm test\n" }, "cd app · npm test"],
  // A comment stays apart from what runs after it.
  [{ command: "ls # all\nrm -rf data" }, "ls # all · rm -rf data"],
  [
    { command: `#!/bin/sh\nset -eu -o pipefail\n# Tidy\ncd /srv\n\nrm -rf *\n${long}` },
    "cd /srv · rm -rf * … and 4 more lines",
  ],
  [{ command: `cd /srv/${"a/".repeat(40)}\nexport A="b"\nrm -rf data` }, "rm -rf data … and 2 more lines"],
  [
    { command: `cd /srv/${"a/".repeat(40)}\nexport GIT_SSH_COMMAND='sh -c id'\ngit fetch` },
    "export GIT_SSH_COMMAND='sh -c id' · git fetch … and 1 more line",
  ],
  [
    { command: `A=b\nLD_PRELOAD=/tmp/x.so\nmake ${"a ".repeat(60)}` },
    "A=b · LD_PRELOAD=/tmp/x.so … and 1 more line",
  ],
  [{ command: `A=b\nexport PATH=bin\n${long}` }, "A=b · export PATH=bin … and 1 more line"],
  [{ command: `BASH_ENV=evil\n${long}` }, "BASH_ENV=evil … and 1 more line"],
  [{ command: `A=$(rm -rf data)\n${long}` }, "A=$(rm -rf data) … and 1 more line"],
  [{ command: `A=1 rm -rf data\n${long}` }, "A=1 rm -rf data … and 1 more line"],
  [{ command: `cd /srv; rm -rf data\n${long}` }, "cd /srv; rm -rf data … and 1 more line"],
  [{ command: `set -e; rm -rf data\n${long}` }, "set -e; rm -rf data … and 1 more line"],
  [{ command: `cd /srv/${"a/".repeat(40)} && rm -rf data` }, "… rm -rf data"],
  [{ command: `cd /srv && ${"a ".repeat(50)}\nls` }, `… ${"a ".repeat(39)}… and 1 more line`],
  [{ command: `# ${"a ".repeat(50)}\nset -x` }, `# ${"a ".repeat(39)}… and 1 more line`],
  [{ "command (01/2)": "make all\n", "command (02/2)": "make x" }, "make all · make x"],
  // Arguments that a tool doesn't read beside the one that it runs.
  [{ cmd: "rm -rf data", command: "ls" }, "ls · rm -rf data"],
  [{ Command: "ls", command: "rm -rf data" }, "ls · rm -rf data"],
  [{ "command (a)": "ls", command: "rm -rf data" }, "ls · rm -rf data"],
  [{ file_path: "/tmp/a", path: "/etc/passwd" }, "/tmp/a · /etc/passwd"],
  // The statement counts under any name.
  [{ command: "ls", query: "DROP TABLE users" }, "ls · DROP TABLE users"],
  [{ command: "ls", sql: "DROP TABLE users" }, "ls · DROP TABLE users"],
  [{ query: "SELECT 1", sql: "DROP TABLE users" }, "SELECT 1 · DROP TABLE users"],
  [{ server: "a", sql: "DROP TABLE users" }, "server: a · DROP TABLE users"],
  [{ "MCP server": "npx bank-server", amount: "5" }, "amount: 5"],
  [{ "MCP server": "npx bank-server" }, bash.action],
  [{ command: "sudo", args: '["rm","-rf","data"]' }, "sudo · rm -rf data"],
  [{ file_path: "a.ts", content: "let a;", run: "rm -rf data" }, "a.ts · rm -rf data"],
  [{ command: "make", description: "Build it", cwd: "/My files", timeout: "9", lines: "[1,5]" }, "make"],
  [{ command: `# Tidy\rrm -rf data\r\n${long}` }, "rm -rf data … and 2 more lines"],
  [{ command: "export TOKEN\ncurl --token abcd1234\nmake" }, "export TOKEN · curl --token ••• · make"],
  [{ file_path: "/srv/app/main.ts" }, "/srv/app/main.ts"],
  [{ amount: "5" }, "amount: 5"],
  [{ "id (1/2)": "47", "id (2/2)": "11", note: "Paid twice" }, "id: 4711 · Paid twice"],
  [{ explanation: "Because of it" }, "explanation: Because of it"],
  [{ note: "Paid twice" }, "Paid twice"],
  [
    { command: "curl -u x --token abcd1234efgh https://example.com" },
    "curl -u x --token ••• https://example.com",
  ],
  [{ command: long }, `echo ${"word ".repeat(14)}word …`],
  [{ command: '["bash","-lc","git push"]' }, "bash -lc git push"],
  [
    { command: "*** Begin Patch\n*** Update File: /srv/a.ts\n@@" },
    "Update File: /srv/a.ts … and 1 more line",
  ],
  [
    { input: "*** Begin Patch\n*** Update File: a\n@@\n-x\n*** Delete File: b\n*** End Patch\n" },
    "Update File: a · Delete File: b … and 2 more lines",
  ],
  [{ input: "*** Begin Patch\n" }, bash.action],
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

it("counts the lines that it doesn't read either", () => {
  const context = { command: `${"#\n".repeat(3_000)}rm -rf data` };
  expect(deriveTitle({ ...bash, context })).toBe(`#${" · #".repeat(19)} … and 2,981 more lines`);
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
  [{ "command (01/2)": "ls", cmd: "rm", command: "rm" }, ["command (01/2)", "command", "cmd"]],
  [{ path: "a", file_path: "b", content: "x" }, ["file_path", "path", "content"]],
  [{ command: "ls", cwd: "/My files", sql: "DROP TABLE a", env: '{"A":"b"}' }, ["command", "sql", "env"]],
  [{ "sql (01/2)": "DROP", "sql (02/2)": " TABLE a", command: "ls" }, ["command", "sql (01/2)"]],
  [{ url: "https://example.com", prompt: "Sum up" }, ["url", "prompt"]],
  [{ pattern: "TODO", path: "src" }, ["path", "pattern"]],
  [{ title: "Fix", body: "Not now", labels: '["bug"]', line: "4" }, ["title", "body", "labels"]],
  [{ message: "Hi", to: "ops" }, ["message"]],
  [{ amount: "5", to: "ops" }, []],
] as [Record<string, string>, string[]][])("%j runs %j", (context, names) => {
  expect(listRun({ ...bash, context })).toEqual(names);
  expect(listRun({ ...bash, action: "Deploy", context })).toEqual([]);
});

it.each([
  [{ database: "prod", sql: "DROP TABLE users", dry_run: "false" }, ["sql"], "DROP TABLE users"],
  [{ cwd: "/srv", command: "git push --force", repository: "a/b" }, ["command"], "git push --force"],
  [
    { file_path: "a.ts", old_string: "1", new_string: "2" },
    ["file_path", "old_string", "new_string"],
    "a.ts",
  ],
  [{ "sql (01/2)": "DROP", "sql (02/2)": " TABLE a" }, ["sql (01/2)"], "DROP TABLE a"],
  [{ file_path: "a.ts", edits: '[{"old_string":"1","new_string":"2"}]' }, ["file_path", "edits"], "a.ts"],
  [{ file_path: "a.ts", edits: "[1]" }, [], null],
  // One text alone is no change, and a path may be anything.
  [{ path: "a.ts", old_string: "1" }, [], null],
  [{ to: "a@b.example", body: "Two words", url: "https://a.example" }, [], null],
  [{ command: " " }, [], null],
  [{ command: "curl --token abcd1234" }, ["command"], "curl --token •••"],
] as [Record<string, string>, string[], string | null][])(
  "%j runs %j beside an action in the agent's own words",
  (context, names, words) => {
    for (const tool of ["psql", null]) {
      const titled = { action: "Tidy up", tool, context };
      expect(listRunBeside(titled)).toEqual(names);
      expect(describeRunBeside(titled)).toBe(words);
      expect(findTitle(titled)).toBe(words);
      expect(deriveTitle(titled), "the action is what is signed").toBe("Tidy up");
    }
    expect(listRunBeside({ ...bash, context })).toEqual([]);
    expect(listRunBeside({ action: "Tidy up", tool: "psql", context: null })).toEqual([]);
  },
);

it("finds a change beside an action in the agent's own words", () => {
  const context = { file_path: "a.ts", old_string: "1", new_string: "2" };
  const change = { before: ["old_string"], after: ["new_string"] };
  expect(findChange({ action: "Edit the file", tool: null, context })).toEqual(change);
});

it.each([
  [{ database: "prod", sql: "DROP TABLE a" }, "DROP TABLE a"],
  [
    { verb: "delete", resource: "deployment/api", namespace: "prod" },
    "Verb: delete · Resource: deployment/api",
  ],
  [
    { justification: "Debug it", duration: "permanent", role: "Admin", user: "ann" },
    "Role: Admin · User: ann",
  ],
  [
    { send_email: "true", lines: '[{"a":1}]', note: "a\nb", text: "x".repeat(61), due: "today" },
    "Due: today",
  ],
  [{ payee: "Example Ltd", due: "today" }, null],
  [{ to: "prod", command: "make install" }, "make install"],
  [{ url: "https://a.example/?token=abcd1234efgh" }, "URL: https://a.example/?token=•••"],
  [{}, null],
] as [Record<string, string>, string | null][])("%j is in a list %j", (context, words) => {
  expect(describeBriefly({ action: "Tidy up", tool: "psql", context })).toBe(words);
  expect(describeBriefly({ ...bash, context })).toBeNull();
});
