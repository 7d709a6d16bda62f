import fc from "fast-check";
import { parse } from "tldts";
import { describe, expect, it } from "vitest";
import { toUnlinkedText } from "./display-text";

/** Finds everything that any known program turns into a link, a superset of what each of them does. */
function findLinks(text: string): string[] {
  const schemes =
    text.match(/[a-z][a-z0-9+-]*:\/\/\S|(?<![a-z0-9])[a-z]+:\S|[^\s[\]]@[^\s\]]|\\\\\S/giu) ?? [];
  const hosts = (text.match(/[\p{L}\p{M}\p{N}._\-\u3002\uFF0E\uFF61]+/gu) ?? []).filter((run) => {
    const host = run.replace(/[\u3002\uFF0E\uFF61]/g, ".").replace(/[._-]+$/, "");
    const { isIcann, domain } = parse(host);
    return /^\d{1,3}(\.\d{1,3}){3}$/.test(host) || (isIcann === true && domain !== null);
  });
  return [...schemes, ...hosts];
}

const addresses = [
  "https://evil.example/approve/abc",
  "evil.example.com",
  "www.evil.com/approve",
  "see(evil.com)now",
  "http://192.0.2.7/x",
  "192.0.2.7:8080/x",
  "192。0．2｡7",
  "http://localhost:3000/approve/abc",
  "mailto:a@evil.com",
  "a.b+c@evil.com",
  "tel:+15550100",
  "file:///etc/passwd",
  "\\\\evil\\share",
  "HTTPS://EVIL.COM",
  "рф.пример.рф",
  "evil。com",
  "evil．com",
];

describe("agents' words for programs that make links", () => {
  it.each(addresses)("hold no link: %s", (address) => {
    const shown = toUnlinkedText(`Open ${address}, or "${address}".`);
    expect(findLinks(shown), shown).toEqual([]);
  });

  it("are known to be links before", () => {
    expect(addresses.filter((address) => findLinks(address).length === 0)).toEqual([]);
  });

  it("show where they were broken, and keep amounts, dates, times and sentences", () => {
    expect(toUnlinkedText("Pay a@b.example at https://evil.example/x")).toBe(
      "Pay a[@]b[.]example at https[:]//evil[.]example/x",
    );
    for (const text of [
      "Pay 1.234,50 EUR, 100.00 USD",
      "22.11.2026, 10:30",
      "Done. Really… done: yes.",
      "...and so",
    ])
      expect(toUnlinkedText(text)).toBe(text);
  });

  it("also make hidden characters visible, which would otherwise come back together", () => {
    expect(toUnlinkedText("evil\u200b.example\nx")).toBe("evil⟨U+200B⟩[.]example⟨U+000A⟩x");
  });

  it("hold no link, whatever they are made of", () => {
    const unit = fc.constantFrom(
      ...["http", "s", ":", "//", "/", ".", "@", "\\", "com", "evil", "xn--p1ai", "рф", "1", "192", " ", "-"],
      ...["[", "]", "\u3002", "\u200b", '"', ">", "www"],
    );
    const text = fc.array(unit, { maxLength: 16 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(text, (raw) => {
        expect(findLinks(toUnlinkedText(raw))).toEqual([]);
      }),
      { numRuns: 5_000 },
    );
  });
});
