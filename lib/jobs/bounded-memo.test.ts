import { describe, expect, it } from "vitest";
import { createBoundedMemo } from "./bounded-memo";

describe("the memo", () => {
  it("lets nobody push out what others need", async () => {
    const memo = createBoundedMemo(10);
    let computed = 0;
    const get = (key: string, owner: string) => memo.get(key, async () => ++computed, owner);
    expect(await get("rare", "a")).toBe(1);
    for (let i = 0; i < 100; i += 1) await get(`junk ${i}`, "b");
    expect(memo.size()).toBe(10);
    expect(await get("rare", "a")).toBe(1);
    expect(await get("junk 99", "b")).toBe(101);
  });

  it("gives a lone owner all of it, and forgets what was not used for longest", async () => {
    const memo = createBoundedMemo(3);
    const computed: string[] = [];
    const get = (key: string) => memo.get(key, async () => computed.push(key), "a");
    for (const key of ["x", "y", "z", "x", "w", "x", "y"]) await get(key);
    expect(computed).toEqual(["x", "y", "z", "w", "y"]);
  });
});
