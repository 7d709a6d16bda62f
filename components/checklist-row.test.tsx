import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { type BrowserStatus, ChecklistRow, isDisagreement, type ServerStatus } from "./checklist-row";

const render = (server: ServerStatus, browser: BrowserStatus) =>
  renderToStaticMarkup(
    <ChecklistRow name="signature" title="Signature" server={server} browser={browser} detail="Ed25519" />,
  );

describe("server and browser side by side", () => {
  it("says both results in words", () => {
    expect(render("pass", "pass")).toMatch(/Server: passes.*Your browser: passes/);
    expect(render("fail", "waiting")).toMatch(/Server: fails.*Your browser: not checked yet/);
  });

  it("is loud when they differ, in every direction, and only then", () => {
    const server = ["pass", "fail", "not_applicable"] as const;
    for (const one of server)
      for (const other of [...server, "waiting", "unavailable"] as const) {
        const differ = other !== "waiting" && other !== "unavailable" && one !== other;
        expect(isDisagreement(one, other)).toBe(differ);
        expect(render(one, other).includes('role="alert"')).toBe(differ);
      }
  });
});
