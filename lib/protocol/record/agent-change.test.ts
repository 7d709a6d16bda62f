/** Statements of changes: one spelling each, and every field is covered. */
import { describe, expect, it } from "vitest";
import { utf8Decode, utf8Encode } from "#lib/protocol/encoding/bytes";
import { type AgentChange, buildChangeStatement, parseChangeStatement, reasonHash } from "./agent-heads";

const frozen: AgentChange = {
  change: "frozen",
  changed_at: "2026-11-24T12:00:00.000Z",
  key_id: "ed25519:1",
  reason_hash: reasonHash("AAAAAAAAAAAAAAAAAAAAAA==", "It paid twice"),
  request_hash: null,
  record: { agent_id: "01990000-0000-7000-8000-000000000000", sequence: 2, previous: "0".repeat(64) },
};
const revoked: AgentChange = { ...frozen, change: "authorization_revoked", request_hash: "a".repeat(64) };

describe("the statement of a change", () => {
  it.each([frozen, { ...frozen, change: "unfrozen", reason_hash: null } as const, revoked])(
    "is read as it was written: $change",
    (one) => {
      expect(parseChangeStatement(buildChangeStatement(one))).toEqual(one);
    },
  );

  it.each([
    ["another name", "agent-change/v1", "agent-change/v2"],
    ["an unknown change", '"change":"frozen"', '"change":"melted"'],
    ["a change of another subject", '"change":"frozen"', '"change":"authorization_revoked"'],
    ["another subject", '"name":"agent"', '"name":"inputs"'],
    ["another agent in its place", '"agent_id":"0199', '"agent_id":"0198'],
    ["a broken hash of the reason", '"reason_hash":"', '"reason_hash":"x'],
    ["a number as time", '"changed_at":"2026-11-24T12:00:00.000Z"', '"changed_at":7'],
    ["a time in another form", '"changed_at":"2026-11-24T12:00:00.000Z"', '"changed_at":"2026-11-24"'],
    ["no place", '"sequence":2', '"sequence":0'],
    ["another spelling", '{"_type"', '{ "_type"'],
    ["one field more", '"change":"frozen"', '"also":1,"change":"frozen"'],
  ])("has no %s", (_what, from, to) => {
    const text = utf8Decode(buildChangeStatement(frozen));
    expect(text).toContain(from);
    expect(parseChangeStatement(utf8Encode(text.replace(from, to)))).toBeNull();
  });

  it("hides the reason from whoever has no salt", () => {
    expect(reasonHash("a", "It paid twice")).not.toBe(reasonHash("b", "It paid twice"));
    expect(reasonHash("a", "It paid twice")).not.toBe(reasonHash("a", "It paid once"));
  });
});
