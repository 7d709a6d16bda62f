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

  /** The first result of each. */
  it.each([
    ["freeze", "/docs/stop"],
    ["freeze an agent", "/docs/stop"],
    ["kill switch", "/docs/stop"],
    ["claude code", "/docs/hook"],
    ["cursor", "/docs/mcp"],
    ["mcp", "/docs/mcp"],
    ["sso", "/docs/run-your-own#single-sign-on"],
    ["okta", "/docs/run-your-own#single-sign-on"],
    ["quick start", "/docs/quick-start"],
    ["install", "/docs/quick-start"],
    ["rules", "/docs/rules"],
    ["standing approval", "/docs/rules"],
    ["cedar", "/docs/rules"],
    ["passkey", "/docs/two-of-finance"],
    ["webhook", "/docs/webhooks"],
    ["python", "/docs/python"],
    ["crewai", "/docs/python-crewai"],
    ["pydantic", "/docs/python-pydantic-ai"],
    ["vercel", "/docs/ai-sdk"],
    ["langgraph", "/docs/langgraph"],
    ["curl", "/docs/plain-http"],
    ["slack", "/docs/approval-cards"],
    ["github", "/docs/github-deployments"],
    ["verify offline", "/docs/verify-offline"],
    ["openssl", "/docs/verify-offline"],
    ["auditor", "/docs/evidence-pack"],
    ["zero-knowledge", "/docs/zero-knowledge"],
    ["rate limit", "/docs/limits"],
    ["erasure", "/docs/security#erasure"],
    ["GDPR", "/docs/security#erasure"],
    ["docker", "/docs/run-your-own"],
    ["malformed_proof", "/docs/reasons"],
    ["POST /v1/attest", "/docs/api/"],
    ["how to attest", "/docs/attest"],
    ["security model", "/docs/security"],
  ])("puts first for %j", (text, href) => {
    const [first] = searchIndex(index, text);
    expect(
      first?.href,
      searchIndex(index, text)
        .map((one) => `${one.href} ${one.label}`)
        .join("\n"),
    ).toMatch(new RegExp(`^${href}${href.endsWith("/") ? "" : "(#|$)"}`));
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
