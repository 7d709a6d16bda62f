/** Shows who asks: the organization's words as its own, and checked facts with their dates. */
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import type { RequestedBy } from "#lib/protocol/approval/assign-groups";
import { testRequestedBy } from "#support/human-authorization";
import { AgentPast, countWords } from "./agent-past";
import { OrganizationBlock } from "./organization-block";

const requestedAt = "2026-11-21T08:00:00.000Z";
const textOf = (html: string) =>
  html
    .replaceAll(/<[^>]+>/g, "")
    .replaceAll("&#x27;", "'")
    .replaceAll(/\s+/g, " ");
const render = (change: Partial<RequestedBy> = {}, name: string | null = "Example") =>
  renderToStaticMarkup(
    <OrganizationBlock
      name={name}
      requestedBy={{ ...testRequestedBy, ...change }}
      requestedAt={requestedAt}
    />,
  );
const domain = (change: Partial<RequestedBy["organization_domains"][number]>) =>
  textOf(
    render({
      organization_domains: testRequestedBy.organization_domains.map((one) => ({ ...one, ...change })),
    }),
  );

describe("the organization", () => {
  it("is named by its own word, and its domain by ours, with both dates", () => {
    const text = textOf(render());
    expect(text).toContain("It chose this name and mark itself. They prove nothing.");
    expect(text).toContain("example.com Verified domain");
    expect(text).toContain("since 2026-11-01 08:00:00 UTC, last on 2026-11-21 02:00:00 UTC.");
    expect(text).toContain("Requester, in the organization's own words: Accounts payable");
  });

  it("has chosen nothing if nobody has named it", () => {
    const text = textOf(render({}, null));
    expect(text).toContain("For the organization Unnamed organization");
    expect(text).toContain("It hasn't given itself a name.");
    expect(text).not.toContain("It chose");
  });

  it("without a domain is one that nobody checked", () => {
    const text = textOf(render({ organization_domains: [], requester: null }));
    expect(text).toContain("No verified domain");
    expect(text).not.toMatch(/Verified domain|Requester/);
  });

  it.each([
    ["2026-11-19T08:00:00.000Z", true],
    ["2026-11-19T07:59:59.999Z", false],
  ])("whose domain was last confirmed at %s: counts as verified: %s", (last_checked, isFresh) => {
    const text = domain({ last_checked });
    expect(text.includes("example.com Verified domain")).toBe(isFresh);
    expect(text.includes("The last daily checks didn't confirm it.")).toBe(!isFresh);
  });

  it("cannot pass for another by letters that look alike, or by markup", () => {
    const text = domain({ domain: "xn--pple-43d.com", unicode: "аpple.com" });
    expect(text).toContain("(xn--pple-43d.com)");
    expect(text).toContain("mixes letters of different scripts (Cyrillic, Latin)");
    const html = render({ requester: "<b>CFO</b>\u202e" });
    expect(html).not.toMatch(/<b>|\u202e/);
    expect(html).toContain("⟨U+202E⟩");
  });
});

describe("the agent's past", () => {
  it("is counted in words", () => {
    expect([0, 1, 999, 1000].map((count) => countWords(count, "denial"))).toEqual([
      "0 denials",
      "1 denial",
      "999 denials",
      "1,000 or more denials",
    ]);
  });

  it("differs from none at all", () => {
    const of = (known_since: string | null) =>
      textOf(renderToStaticMarkup(<AgentPast past={{ ...testRequestedBy.agent_past, known_since }} />));
    expect(of("2026-10-01T08:00:00.000Z")).toBe(
      "Known since 2026-10-01 08:00:00 UTC. Before this request: 120 attestations, 15 approval requests, 2 denials.",
    );
    expect(of(null)).toContain("unknown before");
  });
});
