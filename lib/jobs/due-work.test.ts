/** Due work: whose turn it is, what is left out, and what begins after a stop. The table is the test's own. */
import { describe, expect, it } from "vitest";
import { AppError } from "#lib/errors";
import { createDueWork } from "./due-work";

function openWork(names: string[], { slots = 4, slotsOfOwner = 2, fail = () => {} } = {}) {
  const pending = new Set(names);
  const running = new Map<string, () => void>();
  const asked: string[][] = [];
  const errors: unknown[] = [];
  const work = createDueWork<string, string>({
    slots,
    slotsOfOwner,
    readDue: async (except) => {
      asked.push([...except]);
      return [...pending].filter((name) => !except.includes(name));
    },
    getName: (name) => name,
    getShare: (name) => ({ lane: "other", owners: [name.charAt(0)] }),
    claim: async (name) => name,
    attempt: async (name) => {
      fail();
      await new Promise<void>((end) => running.set(name, end));
      pending.delete(name);
      running.delete(name);
    },
    onError: (error) => errors.push(error),
  });
  const endAll = async () => {
    while (running.size > 0) {
      for (const end of running.values()) end();
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { work, running, asked, errors, pending, endAll };
}

const flood = ["a1", "a2", "a3", "a4", "a5", "a6"];
const settle = () => new Promise((resolve) => setImmediate(resolve));

describe("due work", () => {
  it("of one owner leaves places to others', also to those that come while it hangs", async () => {
    const { work, running, pending, endAll } = openWork(flood);
    const first = work.run();
    await settle();
    expect([...running.keys()]).toEqual(["a1", "a2"]);
    pending.add("b1");
    const second = work.run();
    await settle();
    expect([...running.keys()]).toEqual(["a1", "a2", "b1"]);
    await endAll();
    expect([await first, await second]).toEqual([6, 1]);
  });

  it("is not read again while it runs or waits, and is due again if it failed", async () => {
    let tries = 0;
    const { work, asked, endAll, errors } = openWork(flood, {
      fail: () => {
        tries += 1;
        if (tries === 1) throw new Error("broken");
      },
    });
    const first = work.run();
    await settle();
    const second = work.run();
    await settle();
    expect(asked[0]).toEqual([]);
    expect(asked[1]?.toSorted()).toEqual(flood.slice(1));
    await endAll();
    expect([await first, await second]).toEqual([5, 1]);
    expect(errors).toHaveLength(1);
  });

  it("that is refused with words is no error", async () => {
    const { work, errors } = openWork(["a1"], {
      fail: () => {
        throw new AppError("service_unavailable", "not now");
      },
    });
    expect(await work.run()).toBe(0);
    expect(errors).toEqual([]);
  });

  it("that waits does not begin after a stop", async () => {
    const { work, running, pending, endAll } = openWork(flood);
    let isStopped = false;
    const round = work.run(() => isStopped);
    await settle();
    isStopped = true;
    await endAll();
    expect(await round).toBe(2);
    expect([running.size, pending.size]).toEqual([0, 4]);
  });
});
