/** The embedded database's thread is replaced when it ends or does not answer, and is given up if that fails. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { logger } from "#lib/logger";
import { type KeptThread, keepThread } from "./embedded";

describe("the embedded database's thread", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "countersign-thread-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const limitMs = 300;
  const question = Buffer.from("?");

  /** Opens a thread that answers with its number, but for the first, which does `once` when it is asked. */
  async function keep(once: string, { atStart = "", endMs = 500 } = {}) {
    const own = await mkdtemp(path.join(folder, "one-"));
    const [file, starts] = [path.join(own, "worker.mjs"), path.join(own, "starts")];
    await writeFile(starts, "");
    await writeFile(
      file,
      `import { execSync } from "node:child_process";
       import { appendFileSync, readFileSync } from "node:fs";
       import { parentPort } from "node:worker_threads";
       appendFileSync(${JSON.stringify(starts)}, "+");
       const number = readFileSync(${JSON.stringify(starts)}).length;
       ${atStart}
       parentPort.on("message", (messages) => {
         if (messages === null) parentPort.close();
         else if (number > 1) parentPort.postMessage(Buffer.from(String(number)));
         else { ${once} }
       });
       parentPort.postMessage(null);`,
    );
    const giveUp = vi.fn<(reason: unknown) => void>();
    const times = { startMs: 60_000, endMs };
    const thread = await keepThread({ file, folder: own, times, logger, giveUp });
    const countStarts = async () => (await readFile(starts)).length;
    return { thread, giveUp, countStarts };
  }

  const ask = async (thread: KeptThread, ms = limitMs) =>
    Buffer.from(await thread.exchange(ms)(question)).toString();

  it.each([
    ["has ended by itself", "process.exit(1)", 60_000, "has ended"],
    ["has failed", "throw new Error('unreachable')", 60_000, "unreachable"],
    ["turns in a loop", "for (;;) {}", limitMs, "did not answer a statement in 0.3 seconds"],
    ["says nothing", "", limitMs, "did not answer a statement in 0.3 seconds"],
  ])("is replaced when it %s", async (_, once, ms, words) => {
    const { thread, giveUp, countStarts } = await keep(once, { endMs: 10_000 });
    await expect(ask(thread, ms)).rejects.toThrow(words);
    expect(await ask(thread, 60_000)).toBe("2");
    await thread.close();
    expect(await countStarts()).toBe(2);
    expect(giveUp).not.toHaveBeenCalled();
  });

  it("is replaced when it ends while nobody asks", async () => {
    const { thread } = await keep("", {
      atStart: "if (number === 1) setTimeout(() => process.exit(1), 50);",
    });
    await new Promise((resolve) => setTimeout(resolve, 100));
    await expect.poll(() => ask(thread, 60_000).catch(() => "")).toBe("2");
    await thread.close();
  });

  it("is given up, with the reason, if no other starts", async () => {
    const { thread, giveUp } = await keep("process.exit(1)", {
      atStart: "if (number > 1) throw new Error('no space');",
    });
    await expect(ask(thread)).rejects.toThrow();
    await expect.poll(() => giveUp.mock.calls).toEqual([[expect.objectContaining({ message: "no space" })]]);
    await expect(ask(thread)).rejects.toThrow("no space");
    await thread.close();
  });

  it("is given up if it cannot be ended", async () => {
    // Threads are ended between two instructions of their own, and this one waits for a program.
    const { thread, giveUp } = await keep("execSync('sleep 3')");
    await expect(ask(thread)).rejects.toThrow("did not answer");
    await expect.poll(() => String(giveUp.mock.calls[0]?.[0])).toContain("cannot be ended");
    await thread.close();
  });

  it("is closed even if it does not listen any more", async () => {
    const { thread, giveUp, countStarts } = await keep("for (;;) {}");
    const asked = expect(ask(thread, 60_000)).rejects.toThrow("did not close its files");
    await new Promise((resolve) => setTimeout(resolve, 100));
    await thread.close();
    await asked;
    expect(await countStarts()).toBe(1);
    expect(giveUp).not.toHaveBeenCalled();
  });
});
