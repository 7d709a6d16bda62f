/** A flood of pages from one address leaves the thread to others; time is the test's own. */
import { EventEmitter } from "node:events";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createRenderQueue, type GateOptions } from "./render-limiter";

class Client extends EventEmitter {
  destroyed = false;
}

const pageMs = 20;

describe("the gate of pages", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
  afterEach(() => void vi.useRealTimers());

  let worked = 0;
  const makeGate = (options: GateOptions = {}) =>
    createRenderQueue({ nowMs: () => performance.now(), workedMs: () => worked, ...options });
  /** A page that keeps the thread busy for `pageMs`. */
  const render = (done: string[], name: string) => () =>
    new Promise<void>((resolve) =>
      setTimeout(() => {
        worked += pageMs;
        done.push(name);
        resolve();
      }, pageMs),
    );

  it("lets a visitor's pages through as they come", async () => {
    const gate = makeGate();
    const done: string[] = [];
    for (let i = 0; i < 20; i += 1) void gate.run("a", new Client(), render(done, "a"));
    await vi.advanceTimersByTimeAsync(20 * pageMs);
    expect(done).toHaveLength(20);
  });

  it("gives one address a quarter of the thread in the long run, and all together half", async () => {
    const gate = makeGate({ maxWaiting: 10_000, maxWaitingPerAddress: 1_000 });
    const done: string[] = [];
    for (let i = 0; i < 900; i += 1) void gate.run("flood", new Client(), render(done, "flood"));
    await vi.advanceTimersByTimeAsync(10_000);
    const alone = done.length * pageMs;
    expect(alone).toBeGreaterThan(10_000 * 0.25);
    expect(alone).toBeLessThan(10_000 * 0.25 + 1_500);
    done.length = 0;
    for (let i = 0; i < 900; i += 1)
      for (const address of ["b", "c", "d", "e"]) void gate.run(address, new Client(), render(done, address));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(done.length * pageMs).toBeLessThan(10_000 * 0.5 + 2_500);
  });

  it("charges pages that are under way together for the thread's time once", async () => {
    const gate = makeGate({ maxWaiting: 10_000, maxWaitingPerAddress: 1_000 });
    const done: string[] = [];
    let busyUntilMs = 0;
    // One thread: a page begins when those before it are through.
    const renderInTurn = () => {
      busyUntilMs = Math.max(busyUntilMs, performance.now()) + pageMs;
      return new Promise<void>((resolve) =>
        setTimeout(() => {
          worked += pageMs;
          done.push("page");
          resolve();
        }, busyUntilMs - performance.now()),
      );
    };
    for (let i = 0; i < 400; i += 1)
      for (const address of ["a", "b", "c", "d"]) void gate.run(address, new Client(), renderInTurn);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(done.length * pageMs).toBeGreaterThan(10_000 * 0.5);
    expect(done.length * pageMs).toBeLessThan(10_000 * 0.5 + 2_500);
  });

  it("takes turns: a stranger's page waits for one of the flood's, not for all", async () => {
    const gate = makeGate({ maxWaitingPerAddress: 300 });
    const done: string[] = [];
    for (let i = 0; i < 200; i += 1) void gate.run("flood", new Client(), render(done, "flood"));
    await vi.advanceTimersByTimeAsync(2_000);
    void gate.run("stranger", new Client(), render(done, "stranger"));
    await vi.advanceTimersByTimeAsync(200);
    expect(done).toContain("stranger");
    expect(done.length).toBeLessThan(150);
  });

  it("lets all addresses have their turns when there are more of them than pages under way", async () => {
    const gate = makeGate({ maxActive: 2 });
    const done: string[] = [];
    const addresses = ["a", "b", "c", "d", "e", "f"];
    for (let i = 0; i < 20; i += 1)
      for (const address of addresses) void gate.run(address, new Client(), render(done, address));
    await vi.advanceTimersByTimeAsync(6 * pageMs);
    expect(done.toSorted()).toEqual([...addresses, ...addresses].sort());
  });

  it("keeps in mind what an address has used, however many others come", async () => {
    const gate = makeGate({ perAddress: { part: 1 / 4, atOnceMs: 100 } });
    const done: string[] = [];
    const ask = () => void gate.run("flood", new Client(), render(done, "flood"));
    for (let i = 0; i < 20; i += 1) ask();
    await vi.advanceTimersByTimeAsync(200);
    const gone = Object.assign(new Client(), { destroyed: true }).setMaxListeners(0);
    const come = async (name: string, count: number) => {
      for (let i = 0; i < count; i += 1) await gate.run(`${name}-${i}`, gone, render(done, name));
    };
    await come("stranger", 9_999);
    for (let i = 0; i < 10; i += 1) ask();
    await come("other", 5_000);
    done.length = 0;
    for (let i = 0; i < 10; i += 1) ask();
    await vi.advanceTimersByTimeAsync(200);
    expect(done.length).toBeLessThan(6);
  });

  it("refuses what finds the lines full: 429 to the one address, 503 to all", async () => {
    const gate = makeGate({ maxWaiting: 5, maxWaitingPerAddress: 3 });
    const never = () => new Promise<void>(() => {});
    const ask = (address: string) => gate.run(address, new Client(), never);
    for (let i = 0; i < 4; i += 1) void ask("a");
    await expect(ask("a")).rejects.toThrow("rate_limit_exceeded");
    for (let i = 0; i < 3; i += 1) void ask("b");
    await expect(ask("c")).rejects.toThrow("service_unavailable");
  });

  it("forgets who has gone, and makes room when a page takes long", async () => {
    const gate = makeGate();
    const done: string[] = [];
    void gate.run("a", new Client(), () => new Promise(() => {}));
    const gone = new Client();
    const left = gate.run("a", gone, render(done, "gone"));
    gone.emit("close");
    await left;
    void gate.run("a", new Client(), render(done, "next"));
    await vi.advanceTimersByTimeAsync(900);
    expect(done).toEqual([]);
    await vi.advanceTimersByTimeAsync(200);
    expect(done).toEqual(["next"]);
  });
});
