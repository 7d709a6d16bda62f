import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { Mailbox, splitAtLinks } from "./mailbox";

const origin = "http://localhost:3000";
const linksOf = (text: string) =>
  splitAtLinks(text, origin)
    .filter(({ kind }) => kind === "link")
    .map(({ value }) => value);

describe("splitAtLinks", () => {
  it("finds addresses of our own origin, without the sentence's full stop", () => {
    expect(linksOf(`Sign in: ${origin}/portal/login?t=a.b.\nBye`)).toEqual([`${origin}/portal/login?t=a.b`]);
  });

  it.each([
    "http://localhost:3000.evil.example/x",
    "http://localhost:3000@evil.example/x",
    "http://localhost:30001/x",
    "https://localhost:3000/x",
    "javascript:alert(1)",
  ])("leaves %s as text", (text) => {
    expect(linksOf(`see ${text} now`)).toEqual([]);
  });

  it("loses no character", () => {
    const text = `a ${origin}/x, b\r\n ${origin}/y`;
    expect(
      splitAtLinks(text, origin)
        .map(({ value }) => value)
        .join(""),
    ).toBe(text);
  });
});

describe("Mailbox", () => {
  it("shows markup and hidden characters of a mail as text", () => {
    const html = renderToStaticMarkup(
      <Mailbox
        origin={origin}
        messages={[
          {
            id: "1",
            to: "dev@example.com",
            subject: "Key \u202efor you",
            text: `<script>alert(1)</script>\n\n  ${origin}/approve/x`,
            created_at: "2026-11-21T08:00:00.000Z",
          },
        ]}
      />,
    );
    expect(html).not.toContain("<script");
    expect(html).not.toContain("\u202e");
    expect(html).toContain("⟨U+202E⟩");
    expect(html).toContain(`href="${origin}/approve/x"`);
    expect(html).not.toContain("U+000A");
  });
});
