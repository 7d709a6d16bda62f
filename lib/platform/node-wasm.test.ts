/** Each program that is built begins with the setting, so no WebAssembly runs hot without it. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

/** Loaded by the server, which has set it. */
const inServer = ["lib/emulators/world-id.ts"];

const bundle = readFileSync(".ci/bundle.mjs", "utf8");
const named = [...bundle.matchAll(/inRoot\("([^"]+\.ts)"\)/g)].map(([, file = ""]) => file);
const commands = readdirSync("lib/cli").filter((file) => /(?<!\.test)\.ts$/.test(file));
const programs = [...named, ...commands.map((file) => `lib/cli/${file}`)].filter(
  (file) => !inServer.includes(file),
);

it.each(programs)("%s sets V8's flag before it imports anything else", (file) => {
  const [, first] = /^import (?:.* from )?"([^"]+)";/m.exec(readFileSync(file, "utf8")) ?? [];
  expect(first).toBe("#lib/platform/node-wasm");
});

it("knows the programs", () => {
  expect(programs).toEqual(
    expect.arrayContaining([
      "server.ts",
      "lib/services/policies/rules-process.ts",
      "lib/verifier/cli/command.ts",
    ]),
  );
});
