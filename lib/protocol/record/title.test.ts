import { expect, it } from "vitest";
import { deriveTitle } from "./title";

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
