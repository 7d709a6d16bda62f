import { describe, expect, it } from "vitest";
import type { FeedResponse } from "#lib/api/schemas/identity";
import { describeWarning } from "#lib/protocol/statement/warnings";
import { writeAtomFeed, writeJsonFeed } from "./feed";

const hostile = "<script>alert(1)</script> & \u202e]]> \u0007";
const entry = {
  attestation_id: "01990000-0000-7000-8000-000000000000",
  action: hostile,
  amount: { value: "12000.5", currency: "EUR" },
  tool: "transfer",
  decided: "1 person, by World ID (Orb)",
  timestamp: "2026-11-21T08:00:00.000Z",
  payload_hash: "ab",
  human_approval_method: "proof_of_personhood",
  human_approval_environment: "local",
  warnings: [],
  public_url: "http://localhost/verify/bot/01990000-0000-7000-8000-000000000000",
};
const agent = {
  slug: "bot",
  name: hostile,
  description: hostile,
  created_at: "2026-11-20T08:00:00.000Z",
  attestations: [entry],
} as unknown as FeedResponse;

describe("feeds with hostile strings", () => {
  it("JSON Feed: titles are plain text, content is escaped, TEST is said", () => {
    const feed = JSON.parse(writeJsonFeed("http://localhost", agent));
    expect(feed.items[0].title).toContain("12,000.50 EUR: <script>alert(1)</script> & ⟨U+202E⟩");
    expect(feed.items[0].content_html).not.toContain("<script>");
    expect(feed.items[0].content_html).toContain("TEST, not a real person");
  });

  it("say in each title that something is wrong, and in the text what", () => {
    const warnings = [describeWarning("tools_not_registered"), describeWarning("code_hash_mismatch")];
    const warned = { ...agent, attestations: [{ ...entry, action: "Ran", warnings }] } as FeedResponse;
    const [item] = JSON.parse(writeJsonFeed("http://localhost", warned)).items;
    expect(item.title).toBe("[2 warnings] 12,000.50 EUR: Ran");
    for (const { message } of warnings) expect(item.content_html).toContain(message);
    expect(writeAtomFeed("http://localhost", warned)).toContain("[2 warnings] 12,000.50 EUR: Ran");
    expect(JSON.parse(writeJsonFeed("http://localhost", agent)).items[0].title).not.toContain("warning");
  });

  it("Atom: no markup of the agent's, whatever a reader takes titles for, and no hidden character", () => {
    const xml = writeAtomFeed("http://localhost", agent);
    expect(xml).not.toMatch(/<script/);
    for (const hidden of ["\u202e", "\u0007"]) expect(xml).not.toContain(hidden);
    expect(xml.replaceAll(/<!\[CDATA\[[\s\S]*?\]\]>/g, "")).not.toContain("]]>");
    expect(xml).toContain("TEST, not a real person");
  });

  it("Atom: a name in the feed's own title and author is escaped once", () => {
    const name = 'A & B <x> "q" &amp; &lt;';
    const xml = writeAtomFeed("http://localhost", { ...agent, name });
    const escaped = "A &amp; B &lt;x&gt; &quot;q&quot; &amp;amp; &amp;lt;";
    expect(xml).toContain(`<title>${escaped}: attestations</title>`);
    expect(xml).toContain(`<name>${escaped}</name>`);
  });

  it("both: nothing in an agent's words that a chat which follows the feed makes a link of", () => {
    const linked = {
      action: "Pay at https://evil.example/x",
      name: "www.evil.example",
      slug: "evil.example",
    };
    const named = { ...agent, ...linked, attestations: [{ ...entry, ...linked }] } as unknown as FeedResponse;
    const feed = JSON.parse(writeJsonFeed("http://localhost", named));
    expect(feed.items[0].title).toBe("12,000.50 EUR: Pay at https[:]//evil[.]example/x");
    expect(feed.items[0].content_html).not.toContain("evil.example");
    expect([feed.title, feed.description].join()).not.toContain("evil.example");
    const text = writeAtomFeed("http://localhost", named).replaceAll(
      "http://localhost/agent/evil.example",
      "",
    );
    expect(text).toContain("Pay at https[:]//evil[.]example/x");
    expect(text).not.toContain("evil.example");
  });

  it("JSON Feed: is of the version whose fields it has", () => {
    const feed = JSON.parse(writeJsonFeed("http://localhost", { ...agent, name: "A & B" }));
    expect(feed.version).toBe("https://jsonfeed.org/version/1.1");
    expect(feed.authors).toEqual([{ name: "A & B", url: "http://localhost/agent/bot" }]);
    expect(feed.author).toBeUndefined();
  });
});
