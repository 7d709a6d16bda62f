import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { AgentText } from "./agent-text";

const render = (value: string, isName = false) =>
  renderToStaticMarkup(<AgentText value={value} isName={isName} />);

describe("agent-supplied text on a page", () => {
  it("is text whatever it says: no element, no link, no Markdown", () => {
    const html = render(`<img src=x onerror=alert(1)> [a](javascript:alert(1)) **b** https://evil.example`);
    expect(html).toContain("&lt;img src=x onerror=alert(1)&gt;");
    expect(html).not.toMatch(/<(img|a|strong|script)\b/);
  });

  it("stands in a left-to-right isolate", () => {
    expect(render("abc")).toBe('<bdi dir="ltr" class="agent-text ">abc</bdi>');
  });

  it("shows hidden characters and lets none through", () => {
    const html = render("pay \u202E001\u202C\u200B to\u00A0Bob\u0000");
    for (const label of ["U+202E", "U+202C", "U+200B", "U+00A0", "U+0000"])
      expect(html).toContain(`⟨${label}⟩`);
    expect(html).not.toMatch(/[\u202E\u202C\u200B\u00A0\0]/);
  });

  it("makes a line break a line break, and marks so many that they would push text away", () => {
    // React puts empty comments between texts.
    const plain = (text: string) => render(text).replaceAll("<!-- -->", "");
    expect(plain("a\nb")).toMatch(/>a\nb<\/bdi>/);
    expect(plain("a\n\nb")).toMatch(/>a\n\nb<\/bdi>/);
    expect(render(`a${"\n".repeat(40)}b`)).toContain("⟨U+000A⟩ × 40");
    expect(plain("a\n\u200bb")).toMatch(/>a\n<span[^>]*>⟨U\+200B⟩/);
    expect(render("a\rb")).toContain("⟨U+000D⟩");
    expect(plain(`${"a\n".repeat(99)}b`)).not.toContain("U+000A");
    expect(plain(`${"\u200Ba\n".repeat(40)}b`)).not.toContain("U+000A");
  });

  it("joins a hyphen to what follows, in a text of any length without thousands of elements", () => {
    const joined = (text: string) =>
      renderToStaticMarkup(<AgentText value={text} isCommand />).match(/(?<="agent-text-joined">)-(?=<)/g) ??
      [];
    expect(joined("rm -rf --no-verify my-branch - x- \n-y")).toHaveLength(6);
    expect(joined("-x".repeat(256))).toHaveLength(256);
    expect(joined("-x".repeat(257))).toEqual([]);
  });

  it("marks a line break in a name, which has none", () => {
    expect(renderToStaticMarkup(<AgentText value={"a\nb"} isName />)).toContain("⟨U+000A⟩");
  });

  it("warns in words, and shows hidden characters in the warning too", () => {
    expect(render("p\u0430ypal")).toContain("(Latin, Cyrillic)");
    const warning = render("p\u200B\u0430ypal").split("Careful")[1];
    expect(warning).toContain("⟨U+200B⟩");
    expect(warning).not.toContain("\u200B");
    expect(render("transfer to Иван")).not.toContain("Careful");
    expect(render("transfer to Иван", true)).toContain("Careful");
  });

  it("stays bounded for a hostile string", () => {
    const html = render("p\u0430 q\u0430 r\u0430 s\u0430 t\u0430 u\u0430 v\u0430");
    expect(html.match(/Careful/g)).toHaveLength(5);
    expect(html).toContain("and 2 more");
  });

  it("shows a run of hidden characters as one mark with its count", () => {
    const html = render(`pay${"\u200B".repeat(637)}5`);
    expect(html).toContain(">⟨U+200B⟩ × 637</span>5");
    expect(html.match(/⟨/g)).toHaveLength(1);
  });

  it("costs few elements, however the hidden characters are strewn, and still shows each", () => {
    const html = render("a\u200B".repeat(500));
    expect(html.match(/<span/g)?.length).toBe(32);
    expect(html.match(/⟨U\+200B⟩/g)).toHaveLength(500);
    expect(render("\u200B\u200C".repeat(500)).match(/<span/g)).toHaveLength(1);
    expect(html).not.toContain("\u200B");
    // Where marks are no elements any more, what an agent writes does not pass for one.
    expect(render(`${"a\u200B".repeat(40)}⟨U+202E⟩`)).toMatch(/⟨U\+27E8⟩U\+202E⟩<\/bdi>$/);
  });

  it("takes lines without ink as blank, and sums up a run of many kinds", () => {
    const html = render(`Pay 1${"\n ".repeat(700)}\nand 900`);
    expect(html).toContain("⟨U+000A⟩ × 701 ⟨U+0020⟩ × 700: 1401 invisible characters");
    expect(html.match(/\n/g)).toHaveLength(1);
    const many = `a\u200Bb`.repeat(40) + "\n\u2800".repeat(300);
    expect(render(many).match(/\n/g)).toHaveLength(1);
    expect(render(many).length).toBeLessThan(6_000);
    expect(render("a\n    \nb").replaceAll("<!-- -->", "")).toMatch(/>a\n {4}\nb<\/bdi>/);
    expect(render("a\n\u2800\nb")).toContain("⟨U+2800⟩");
  });

  it("says that an empty string is empty", () => {
    expect(render("")).toContain("(empty)");
  });
});
