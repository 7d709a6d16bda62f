import { readFileSync } from "node:fs";
import path from "node:path";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { quickStartScript, quickStartSteps } from "#components/commands";
import { headingId } from "#components/heading-id";
import { Markdown, OnThisPage } from "#components/markdown";
import { scopeNames } from "#lib/api/schemas/key-choices";
import { describeError, errorNames } from "#lib/errors";
import { reasonCodes } from "#lib/protocol/statement/reasons";
import { warningCodes } from "#lib/protocol/statement/warnings";
import { webhookEvents } from "#lib/protocol/webhook/webhook";
import { guideEntries } from "./guides-index";
import { listReasons } from "./reason-table";
import { splitWire, type WireSlug } from "./wire-pages";

const wire = splitWire(readFileSync("docs/wire.md", "utf8"));
const read = (slug: string) =>
  slug in wire
    ? wire[slug as WireSlug]
    : readFileSync(path.join("components/guides/content", `${slug}.md`), "utf8");
const withoutFences = (text: string) => text.replace(/^```[\s\S]*?^```$/gm, "");
const anchors = (text: string) =>
  [...withoutFences(text).matchAll(/^#{2,3} (.+)$/gm)].map((match) => headingId(match[1] ?? ""));
/** Pages that are not guides and that a guide may lead to. */
const otherPages = ["/verify", "/verify/presentation", "/dev/mailbox", "/vectors/conformance/README.md"];

describe("the guides", () => {
  it.each(guideEntries)("$slug has one title and no anchor twice", ({ slug }) => {
    const text = read(slug);
    expect(text).toMatch(/^# \S/);
    expect(withoutFences(text).match(/^# /gm)).toHaveLength(1);
    expect(new Set(anchors(text)).size).toBe(anchors(text).length);
  });

  it.each(guideEntries)("$slug leads only to what is there", ({ slug }) => {
    const slugs: readonly string[] = guideEntries.map((guide) => guide.slug);
    for (const [, target = ""] of read(slug).matchAll(/\]\((\/[^)]*)\)/g)) {
      if (otherPages.includes(target)) continue;
      const [page = "", anchor] = target.replace("/docs/", "").split("#");
      expect(slugs, target).toContain(page);
      if (anchor !== undefined) expect(anchors(read(page)), target).toContain(anchor);
    }
  });

  it.each(guideEntries)("$slug asks nobody to run a package that is not ours", ({ slug }) => {
    expect(read(slug).replace("npm install {npm_package}", "")).not.toMatch(
      /\b(npx|pnpm dlx|yarn dlx|bunx|npm (i|install|exec) )\b/,
    );
  });

  it("has each part of the wire format on one page, whose own anchors need no page", () => {
    const whole = readFileSync("docs/wire.md", "utf8");
    expect(Object.values(wire).flatMap(anchors).sort()).toEqual(anchors(whole).sort());
    for (const text of Object.values(wire))
      for (const [, anchor] of text.matchAll(/\]\(#([^)]+)\)/g)) expect(anchors(text)).toContain(anchor);
    expect(wire["wire-attestations"]).toContain("](/docs/wire-log#record-of-an-agent)");
    expect(() => splitWire(`${whole}\n## Unheard of\n`)).toThrow("on no page");
    expect(() => splitWire(whole.replace("## Log\n", "## Logs\n"))).toThrow('no part "Log"');
    expect(() => splitWire(`${whole}[x](#nowhere)\n`)).toThrow("#nowhere");
  });

  it("explains every error code under an anchor of its name, and no other", () => {
    const codes = new Set(errorNames.map((name) => describeError(name).code));
    expect(codes.size).toBeGreaterThan(20);
    const explained = [...read("errors").matchAll(/^### (.+)$/gm)].map((match) => headingId(match[1] ?? ""));
    expect(explained.sort()).toEqual([...codes].sort());
  });

  it("lists every reason of a check once, and names no other", () => {
    const text = read("reasons");
    expect(text.match(/^\{reasons\}$/gm)).toHaveLength(1);
    const listed = [...listReasons().matchAll(/^\| `(\w+)` \| (.+) \|$/gm)];
    expect(listed.map(([, code]) => code)).toEqual(reasonCodes);
    for (const [, code, meaning] of listed) expect(meaning, code).not.toMatch(/[{}|]/);
    for (const [, code] of text.matchAll(/"reason": "(\w+)"/g)) expect(reasonCodes).toContain(code);
  });

  it("lists every warning, every event of webhooks and every scope, and no other", () => {
    const namesIn = (text = "", pattern = /`([a-z_.]+)`/g) =>
      [...text.matchAll(pattern)].map(([, name]) => name);
    const [, warnings] = /## Authentic, with warnings\n([\s\S]*?)\n## /.exec(read("verify-offline")) ?? [];
    expect(namesIn(warnings, /^\| `(\w+)`/gm)).toEqual(warningCodes);
    const events = read("webhooks")
      .match(/^\| `.+$/gm)
      ?.map((row) => row.split("|")[1])
      .join();
    expect(namesIn(events).sort()).toEqual([...webhookEvents, "webhook.test"].sort());
    const [, scopes] = /this route needs \((.+?)\)/.exec(read("errors")) ?? [];
    expect(namesIn(scopes)).toEqual(scopeNames);
  });

  it("names a page's headings beside it and, folded, above it", () => {
    const text = read("rules");
    const html = renderToStaticMarkup(<OnThisPage text={text} />);
    const linked = [...html.matchAll(/href="#([^"]+)"/g)].map(([, anchor]) => anchor);
    const headings = [...withoutFences(text).matchAll(/^## (.+)$/gm)].map(([, title = ""]) =>
      headingId(title),
    );
    expect(headings.length).toBeGreaterThan(3);
    expect(linked).toEqual([...headings, ...headings]);
  });

  it("colours what a sample says", () => {
    const html = renderToStaticMarkup(<Markdown text={'```sh\ncurl "x" # sends it\n```\n'} />);
    for (const part of ["curl", "&quot;x&quot;", "# sends it"])
      expect(html).toMatch(new RegExp(`<(\\w+) class="\\w+">${part}</\\1>`));
  });

  it("prints each step of the quick start once, in order", () => {
    const printed = [...read("quick-start").matchAll(/^\{step:([a-z-]+)\}$/gm)].map((match) => match[1]);
    expect(printed).toEqual(quickStartSteps("http://localhost:3000").map((step) => step.id));
  });

  it("has one text of the quick start: the README's is the landing page's", () => {
    const readme = readFileSync("README.md", "utf8");
    expect(readme).toContain(`\n\`\`\`sh\n${quickStartScript("http://localhost:3000")}\n\`\`\`\n`);
  });
});
