import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { canonicalJson } from "#lib/protocol/encoding/canonical-json";
import { alterations } from "#support/alterations";
import { testRequest, testRequestedBy, testShown } from "#support/human-authorization";
import { contextHash, isShownContent } from "./shown-content";

const sha256Hex = (text: string) => createHash("sha256").update(text).digest("hex");
const names = { agent_name: "Treasurer", organization_name: null, group_names: ["finance"] };
const { requested_by } = testShown;

describe("contextHash", () => {
  it("is the SHA-256 of the canonical salt, context, names and who asks", () => {
    const { agent_name, organization_name, group_names } = names;
    const extra = { group_names, more: 1, organization_name, agent_name };
    expect(contextHash("s", { b: "2", a: "1" }, extra, testRequestedBy)).toBe(
      sha256Hex(
        `["s",{"a":"1","b":"2"},{"agent_name":"Treasurer","group_names":["finance"],"organization_name":null},${canonicalJson(requested_by)}]`,
      ),
    );
  });
});

describe("isShownContent", () => {
  const whole = { context: { a: "1" }, context_salt: "s", ...names, requested_by };
  const context_hash = contextHash("s", { a: "1" }, names, testRequestedBy);
  const isShown = (content: typeof whole) => isShownContent({ ...testRequest, context_hash }, content);

  it("tells the content that a page showed from any other, names included", () => {
    expect(isShown(whole)).toBe(true);
    for (const other of [
      { context: { a: "2" } },
      { context_salt: "t" },
      { agent_name: "Other" },
      { agent_name: null },
      { organization_name: "Other" },
      { group_names: [] },
      { group_names: ["Finance"] },
      { group_names: ["finance", "finance"] },
      { requested_by: null },
    ])
      expect([other, isShown({ ...whole, ...(other as object) })]).toEqual([other, false]);
  });

  it.each(alterations(requested_by))("changes with who asks: %s", (_what, other) => {
    expect(isShown({ ...whole, requested_by: other as typeof requested_by })).toBe(false);
  });
});
