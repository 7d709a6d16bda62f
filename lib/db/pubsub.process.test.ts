/** Waiters are woken, also for what was sent while the listening connection was lost. */
import { expect, it } from "vitest";
import { anyKind, createTestDatabase } from "#support/databases";
import { startPooler } from "#support/pooler";
import type { Database } from "./client";
import { openDatabase } from "./embedded/embedded";
import { createWakeups } from "./pubsub";

/** Longer than any test. */
const forever = 2 ** 31 - 1;

it("lets everyone look again when it listens again", async () => {
  let listensAgain = () => {};
  const listen: Database["listen"] = async (_channel, _onPayload, onListening = () => {}) => {
    listensAgain = onListening;
  };
  const wakeups = await createWakeups({ isPooled: false, listen } as Database);
  const waiting = ["a", "b"].map((name) => wakeups.wait(name, forever).over);
  listensAgain();
  expect(await Promise.all(waiting)).toEqual([true, true]);
});

it("wakes all who wait for a name, and nobody else; whoever has ended is out", async () => {
  let hear = (_name: string) => {};
  const listen: Database["listen"] = async (_channel, onPayload) => {
    hear = onPayload;
  };
  const wakeups = await createWakeups({ isPooled: false, listen } as Database);
  const [first, second, ended, other] = ["a", "a", "a", "b"].map((name) => wakeups.wait(name, forever));
  ended?.end();
  hear("a");
  hear("nobody's");
  expect(await Promise.all([first, second, ended].map((wait) => wait?.over))).toEqual([true, true, false]);
  for (const wait of [other, other, first]) wait?.end();
  expect([await other?.over, await wakeups.wait("b", 1).over]).toEqual([false, false]);
});

it.skipIf(anyKind !== "postgres")("does not start where nothing is heard behind a pooler", async () => {
  const [right, wrong] = [await createTestDatabase(), await createTestDatabase()];
  const pooler = await startPooler(right.url);
  try {
    const open = (listenUrl: string) => openDatabase({ databaseUrl: pooler.url, listenUrl, dataDir: "" });
    const deaf = await open(wrong.url);
    await expect(createWakeups(deaf, 1)).rejects.toThrow(/cannot start: .* DATABASE_LISTEN_URL/);
    await deaf.close();
    const hearing = await open(right.url);
    const wakeups = await createWakeups(hearing);
    const { over: woken } = wakeups.wait("a", forever);
    await (await createWakeups(hearing)).notify("a");
    await woken;
    await hearing.close();
  } finally {
    await pooler.stop();
    await Promise.all([right.drop(), wrong.drop()]);
  }
});
