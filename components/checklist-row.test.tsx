import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { describeWarning, type WarningCode, warningCodes } from "#lib/protocol/statement/warnings";
import { findRowWarning, warningRows } from "#lib/verifier/checks/warning-rows";
import { type BrowserStatus, ChecklistRow, isDisagreement, type ServerStatus } from "./checklist-row";

const render = (server: ServerStatus, browser: BrowserStatus, warned: WarningCode[] = []) => {
  const found = findRowWarning("tools", warned.map(describeWarning));
  return renderToStaticMarkup(
    <ChecklistRow
      name="tools"
      title="Tools"
      server={server}
      browser={browser}
      serverWarned={found}
      browserWarned={found}
      detail="Ed25519"
    />,
  );
};

describe("server and browser side by side", () => {
  it("says both results in words", () => {
    expect(render("pass", "pass")).toMatch(/Server: yes.*Your browser: yes/);
    expect(render("fail", "waiting")).toMatch(/Server: fails.*Your browser: not checked yet/);
  });

  it("answers no where the check holds and what it found is bad news, and never in the colour of a pass", () => {
    const row = render("pass", "pass", ["tools_not_registered"]);
    expect(row).toMatch(/Server: no.*Your browser: no/);
    expect(row).not.toMatch(/text-pass|yes|passes/);
    const waiting = render("pass", "waiting", ["tools_not_registered"]);
    expect(waiting).toMatch(/Server: no.*Your browser: not checked yet/);
    expect(render("fail", "fail", ["tools_not_registered"])).toMatch(/Server: fails.*Your browser: fails/);
    expect(render("pass", "pass", ["code_hash_mismatch", "approval_test"])).toContain("Server: yes");
  });

  it("has a row for each warning but an erasure, which leaves no row to read, and a freeze and a trace, which no check is about", () => {
    for (const code of warningCodes) {
      const row = warningRows[code];
      if (row === null) expect(code).toBeOneOf(["content_erased", "agent_frozen", "reported_by_trace"]);
      else expect(findRowWarning(row.check, [describeWarning(code)])).toMatchObject({ answer: row.answer });
    }
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
