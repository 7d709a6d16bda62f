import { describe, expect, it } from "vitest";
import { rememberPeer } from "#lib/api/http/rate-limit";
import { anyKind } from "#support/databases";
import { setupTestApp } from "#support/setup-app";
import { COUNTED_HEADER, countPage, limitOfPage, refusePage } from "./page-limits";

describe("limits on pages", () => {
  const { test } = setupTestApp(anyKind, { LIMIT_VERIFY_PER_MINUTE: "2" });

  const ask = (ip: string) => {
    const request = new Request("http://localhost/verify/bot/01990000-0000-7000-8000-000000000000");
    rememberPeer(request, ip);
    return refusePage(request, "verify");
  };

  it("knows which pages cost a verification", () => {
    expect(limitOfPage("/verify/bot/01990000-0000-7000-8000-000000000000")).toBe("verify");
    expect(limitOfPage("/badge/bot.svg")).toBe("verify");
    expect(limitOfPage("/agent/bot/feed.json")).toBe("feed");
    expect(limitOfPage("/verify")).toBeNull();
    expect(limitOfPage("/docs")).toBeNull();
  });

  it("answers 429 with the time to wait, by client, and counts page and API together", async () => {
    expect(await ask("192.0.2.1")).toBeNull();
    const { status: api } = await test.call("GET", "/v1/verify/unknown", { ip: "192.0.2.1" });
    expect(api).toBe(404);
    const refused = await ask("192.0.2.1");
    expect(refused?.status).toBe(429);
    expect(Number(refused?.headers["retry-after"])).toBeGreaterThan(0);
    expect(refused?.headers["ratelimit"]).toContain('"verify";r=0');
    expect(await ask("192.0.2.2")).toBeNull();
  });

  it("a page counts by itself unless this process has counted, whatever a client sends", async () => {
    const forged = new Headers({ [COUNTED_HEADER]: "guess" });
    await countPage(forged, "verify");
    await countPage(forged, "verify");
    await expect(countPage(forged, "verify")).rejects.toThrow("rate_limit_exceeded");
    await countPage(new Headers({ [COUNTED_HEADER]: test.app.peerSecret }), "verify");
  });
});
