import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { buildSearchIndex } from "./search-index";
import { searchIndex } from "./search-words";
import { splitWire, type WireSlug } from "./wire-pages";

const base = "https://example.com";
const wire = splitWire(readFileSync("docs/wire.md", "utf8"));
const read = (slug: string) =>
  slug in wire ? wire[slug as WireSlug] : readFileSync(`components/guides/content/${slug}.md`, "utf8");
const index = buildSearchIndex(base, read);
const find = (text: string) => searchIndex(index, text).map(({ href }) => href);

describe("the search of the documentation", () => {
  it.each([
    ["idempotency", "/docs/wire#idempotency"],
    ["validation_error", "/docs/errors#validation_error"],
    ["payload_hash_mismatch", "/docs/reasons"],
    ["POST /v1/attest", "/docs/api/"],
    ["langgraph", "/docs/langgraph"],
    ["erasure", "/docs/wire-attestations#erasure"],
    ["nullifier", "/docs/"],
  ])("finds %s", (text, href) => {
    expect(
      find(text).some((one) => one.startsWith(href)),
      find(text).join(),
    ).toBe(true);
  });

  it("puts what is called so before what mentions it, and finds nothing for nothing", () => {
    expect(searchIndex(index, "validation_error")[0]?.href).toBe("/docs/errors#validation_error");
    expect(searchIndex(index, "webhooks")[0]?.label).toMatch(/^Webhooks/);
    expect(find("  ")).toEqual([]);
    expect(find("no such words anywhere xyzzy")).toEqual([]);
  });

  it("leads to headings that the pages have", () => {
    const anchors = index.filter(({ href }) => href.includes("#"));
    expect(anchors.length).toBeGreaterThan(150);
    for (const { href } of anchors) {
      const [, slug = "", anchor = ""] = /^\/docs\/([a-z-]+)#(.+)$/.exec(href) ?? [];
      expect(read(slug), href).not.toBe("");
      expect(anchor, href).toMatch(/^[a-z0-9_-]+$/);
    }
  });

  it("is small enough to be fetched at the first key", () => {
    expect(JSON.stringify(index).length).toBeLessThan(400_000);
  });
});
