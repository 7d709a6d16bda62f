/** Shares by the order in which work runs: nothing here looks at a clock. */
import { describe, expect, it } from "vitest";
import { createFairQueue, createShare, type FairQueueOptions, type Lane, type Owner } from "./fair-queue";

/** A queue whose work ends when the test says so. */
function createBench(options: Partial<FairQueueOptions> = {}) {
  const queue = createFairQueue({ slots: 1, maxWaiting: 32, maxPerOwner: 12, refusal: "busy", ...options });
  const started: string[] = [];
  const refused: string[] = [];
  const ends: (() => void)[] = [];
  const add = (name: string, owner: Owner, lane: Lane = "approval") =>
    void queue
      .run(createShare(lane, owner), () => {
        started.push(name);
        return new Promise<void>((resolve) => ends.push(resolve));
      })
      .catch(() => refused.push(name));
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
  /** Ends what runs, one after another, until `count` more have ended. */
  const end = async (count: number) => {
    for (let i = 0; i < count; i += 1) {
      await settle();
      ends.shift()?.();
    }
    await settle();
  };
  return { queue, add, end, settle, started, refused };
}

const times = (count: number, make: (i: number) => void) => Array.from({ length: count }, (_, i) => make(i));
const stranger: Owner = { organization: "stranger", request: "r", client: "192.0.2.9" };

describe("somebody new goes before a flood", () => {
  const floods: Record<string, (i: number) => Owner> = {
    "of one address with many keys": (i) => ({
      organization: `o${i}`,
      request: `r${i}`,
      client: "192.0.2.1",
    }),
    "of one organization from many addresses": (i) => ({
      organization: "o",
      request: `r${i}`,
      client: `198.51.100.${i}`,
    }),
    "for one request from many addresses": (i) => ({
      organization: "o",
      request: "r1",
      client: `198.51.100.${i}`,
    }),
    "of one IPv6 site with many networks and keys": (i) => ({
      organization: `o${i}`,
      request: `r${i}`,
      client: `2001:db8:1:${i.toString(16)}::/64`,
    }),
  };
  it.each(Object.entries(floods))("%s", async (_name, ownerOf) => {
    const bench = createBench();
    times(200, (i) => bench.add(`junk ${i}`, ownerOf(i)));
    await bench.end(5);
    times(200, (i) => bench.add(`more ${i}`, ownerOf(1_000 + i)));
    bench.add("valid", stranger);
    await bench.end(2);
    expect(bench.started.indexOf("valid")).toBeGreaterThanOrEqual(0);
    expect(bench.started.indexOf("valid")).toBeLessThanOrEqual(7);
    expect(bench.refused).not.toContain("valid");
  });

  it("also the right person for a request whose link has leaked, and another request of its organization", async () => {
    const bench = createBench();
    const junk: Owner = { organization: "o", request: "leaked", client: "192.0.2.1" };
    times(100, (i) => bench.add(`junk ${i}`, junk));
    await bench.end(3);
    times(100, (i) => bench.add(`junk ${i}`, junk));
    bench.add("right person", { ...junk, client: "192.0.2.2" });
    bench.add("other request", { ...junk, request: "other", client: "192.0.2.3" });
    await bench.end(3);
    expect(bench.started.slice(4, 6).sort()).toEqual(["other request", "right person"]);
  });
});

describe("lanes", () => {
  it("keep places for approvals that nothing else can take, and turns", async () => {
    const bench = createBench({ maxWaiting: 4 });
    times(50, (i) => bench.add(`check ${i}`, { organization: `o${i}`, client: `c${i}` }, "other"));
    bench.add("approval 1", stranger);
    bench.add("approval 2", { ...stranger, request: "r2" });
    await bench.end(6);
    expect(bench.started.slice(0, 5)).toEqual(["check 0", "approval 1", "check 1", "approval 2", "check 2"]);
    expect(bench.refused.every((name) => name.startsWith("check"))).toBe(true);
  });

  it("let everything else have its turns under a flood of approvals, whose organization it may be", async () => {
    const bench = createBench();
    times(100, (i) => bench.add(`junk ${i}`, { organization: "o", request: `r${i}`, client: "c" }));
    bench.add("check", { organization: "o", client: "c" }, "other");
    await bench.end(1);
    expect(bench.started).toEqual(["junk 0", "check"]);
  });
});

describe("a full queue", () => {
  it("refuses the heaviest owner's newest work for a lighter one's, and never the other way", async () => {
    const bench = createBench({ maxWaiting: 3 });
    times(4, (i) => bench.add(`junk ${i}`, { organization: "o", client: "c" }));
    bench.add("valid", stranger);
    await bench.settle();
    expect(bench.refused).toEqual(["junk 3"]);
    times(20, (i) => bench.add(`more ${i}`, { organization: "o", client: "c" }));
    await bench.settle();
    expect(bench.refused).not.toContain("valid");
    await bench.end(1);
    expect(bench.started).toEqual(["junk 0", "valid"]);
  });

  it("gives way to nobody for a newcomer that gets no place in the end", async () => {
    const bench = createBench({ maxPerOwner: 2 });
    bench.add("runs", { organization: "x", client: "c" });
    bench.add("waits", { organization: "o", client: "d" });
    bench.add("waits too", { organization: "o", client: "d" });
    bench.add("second", { organization: "y", client: "c" });
    bench.add("third", { organization: "o", client: "c" });
    await bench.settle();
    expect(bench.refused).toEqual(["third"]);
  });

  it("holds an owner to what may run at once, and lets others pass", async () => {
    const bench = createBench({ slots: 4, maxRunningPerOwner: 2 });
    times(5, (i) => bench.add(`slow ${i}`, { organization: "o", client: `c${i}` }));
    bench.add("valid", stranger);
    await bench.settle();
    expect(bench.started).toEqual(["slow 0", "slow 1", "valid"]);
    await bench.end(6);
    expect(bench.started).toHaveLength(6);
  });

  it("goes on after work that fails, and drains", async () => {
    const { queue } = createBench();
    const failed = queue.run(createShare("other", stranger), () => Promise.reject(new Error("as asked")));
    const fine = queue.run(createShare("other", stranger), async () => "done");
    await expect(failed).rejects.toThrow("as asked");
    await queue.drain();
    expect(await fine).toBe("done");
  });
});
