/** Guarantee: a process uses the one app that was opened in it, and builds none by being asked for a page. */
import { afterEach, expect, it, vi } from "vitest";
import { openApp } from "./app";
import { getApp, hasApp, keepApp } from "./singleton";

afterEach(() => {
  keepApp(null);
  vi.unstubAllEnvs();
});

it("is not built by who uses it", async () => {
  keepApp(null);
  expect(hasApp()).toBe(false);
  await expect(getApp()).rejects.toThrow("this process has not opened its app");
  expect(hasApp()).toBe(false);
});

it("rejects all who wait for it if it could not be built, and may be opened again", async () => {
  vi.stubEnv("DATABASE_URL", "postgres://nobody@127.0.0.1:1/nothing");
  for (let attempt = 0; attempt < 2; attempt += 1) {
    const opening = openApp();
    expect(hasApp()).toBe(true);
    const outcomes = await Promise.allSettled([opening, getApp()]);
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({
        status: "rejected",
        reason: { message: expect.stringContaining("nothing listens there") },
      });
    expect(hasApp()).toBe(false);
  }
});
