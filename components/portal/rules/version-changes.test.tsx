import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { VersionChanges } from "./version-changes";
import { VersionTable } from "./version-table";

const before = {
  version: 1,
  hash: "aa",
  mode: "enforce" as const,
  fallback: "ask" as const,
  require_second_owner: false,
  author: "ana@example.com",
  created_at: "2026-11-22T10:00:00.000Z",
  confirmed_by: null,
  text: "// none",
  log_origin: "o",
  log_index: 7,
  statement: { payload: "", signature: "", envelope_signature: "", key_id: "" },
};

const textOf = (node: React.ReactNode) => renderToStaticMarkup(node).replaceAll(/<[^>]*>/g, "");

describe("a version of the rules", () => {
  it.each([
    [{ fallback: "deny" as const }, "enforced, otherwise deny, changes need no second owner"],
    [{ require_second_owner: true }, "enforced, otherwise ask people, changes need a second owner"],
  ])("says that it changed only %j", (change, words) => {
    const rules = { ...before, ...change, version: 2 };
    const was = "(before: enforced, otherwise ask people, changes need no second owner)";
    expect(textOf(<VersionChanges rules={rules} before={before} />)).toContain(`Mode ${words} ${was}.`);
    expect(textOf(<VersionTable versions={[rules, before]} />)).toContain(words);
  });

  it("has nothing before it if it is the first, or changed only the text", () => {
    for (const other of [null, { ...before, text: "// other" }])
      expect(textOf(<VersionChanges rules={before} before={other} />)).not.toContain("before:");
  });

  it("is no empty box if it has no rules", () => {
    const empty = { ...before, text: "" };
    expect(textOf(<VersionChanges rules={empty} before={null} />)).toContain("There are no rules in it.");
    expect(textOf(<VersionChanges rules={empty} before={before} />)).toContain("// none");
  });
});
