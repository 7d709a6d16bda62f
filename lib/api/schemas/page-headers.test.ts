/** Links that load a new document; e2e/approval-from-portal.spec.ts tests that the browser then runs an approval. */
import path from "node:path";
import type { NextConfig } from "next";
import { describe, expect, it } from "vitest";
import { hasOwnHeaders, isExchanged, isWalletPage, secretPages } from "./page-headers";

describe("page headers", () => {
  it("knows the pages with headers of their own", () => {
    for (const path of ["/approve/areq_1.x", "/demo/x", "/notices/x", "/opened/x", "/dev/world-app"])
      expect(hasOwnHeaders(path), path).toBe(true);
    for (const path of ["/", "/portal/approvers", "/approved", "/demonstration", "/dev/mailbox"])
      expect(hasOwnHeaders(path), path).toBe(false);
    expect(["/approve/x", "/demo/x", "/portal"].map(isWalletPage)).toEqual([true, false, false]);
  });

  it("exchanges no page for one with other headers, or on another host", () => {
    for (const href of ["/portal", "/portal/requests?key=1", "/#approve", "/verify/bot/1"])
      expect(isExchanged(href), href).toBe(true);
    for (const href of [
      "/approve/areq_1.x",
      "/demo/x?y#z",
      "/docs#top",
      "/docs/approve",
      "https://a.example/portal",
      "portal",
    ])
      expect(isExchanged(href), href).toBe(false);
  });

  it("lists every page that next.config.ts gives a Referrer-Policy of its own", async () => {
    const { default: nextConfig } = (await import(path.resolve("next.config.ts"))) as { default: NextConfig };
    const rules = (await nextConfig.headers?.()) ?? [];
    const own = rules.filter(
      ({ source, headers }) =>
        source !== rules[0]?.source && headers.some(({ key }) => key === "Referrer-Policy"),
    );
    expect(own.map(({ source }) => source)).toEqual(secretPages.map((page) => `${page}/:path*`));
  });
});
