/** Rejects words that `npm run log` can't work with: it says what is wrong, and makes nothing. */
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { anyKind } from "#support/databases";
import { closeHomes, makeHome, run, start } from "#support/operator-commands";

afterEach(closeHomes);

describe("an empty word, as of a variable that is not set,", () => {
  it.each([
    ["compact", "--older-than", ""],
    ["compact", "--older-than="],
    ["compact", "--older-than", " "],
    ["export-tiles", ""],
  ])("is no argument: %s %s", async (...words) => {
    const home = await makeHome("embedded");
    const { code, out } = await run("log", words, { ...home, LOG_STORE: "file:/nowhere" });
    expect({ code, out }).toEqual({ code: 2, out: expect.stringContaining("usage: npm run log") });
    expect(readdirSync(String(home["DATA_DIR"]))).toEqual([]);
  });
});

describe("the words of npm run log", () => {
  it.each([
    [["--help"], 0, "usage: npm run log"],
    [["list", "{home}", "--key-file", "{key}"], 1, "no URL is given, and there is no list in"],
    [["list", "{home}", "--key-file", "{key}", "nonsense"], 1, '"nonsense" is no URL'],
    [
      ["list", "{home}", "--key-file", "{key}", "http://127.0.0.1:1"],
      1,
      "http://127.0.0.1:1/v1/pubkey doesn't",
    ],
  ] as const)("say what is wrong: %j", async (words, code, says) => {
    const home = await makeHome("embedded");
    const folder = String(home["DATA_DIR"]);
    const key = path.join(folder, "list-key");
    writeFileSync(key, Buffer.alloc(32, 6).toString("base64"));
    const argv = words.map((word) => word.replace("{home}", folder).replace("{key}", key));
    expect(await run("log", argv, home)).toMatchObject({ code, out: expect.stringContaining(says) });
    expect(readdirSync(folder)).toEqual(["list-key"]);
  });

  it("say that a store of another kind is none, and make no folder of that name", async () => {
    const home = await makeHome(anyKind);
    await (await start(anyKind, home)).app.close();
    const { code, out } = await run("log", ["export-tiles", "gs://bucket/log"], home);
    expect({ code, out }).toEqual({ code: 1, out: expect.stringContaining("gs://bucket/log is neither") });
    expect(existsSync("gs:")).toBe(false);
  });
});
