import { describe, expect, it } from "vitest";
import { type KeyPrincipal, type MemberPrincipal, ownsRow, toActor } from "./context";

const key: KeyPrincipal = {
  kind: "key",
  isTest: true,
  keyId: "key-1",
  organizationId: "own",
  scopes: ["read"],
  defaultPublic: true,
  attestationsPerDay: 1,
  ip: "192.0.2.1",
};
const member: MemberPrincipal = {
  kind: "user",
  userId: "user-1",
  email: "ada@example.com",
  organizationId: "own",
  ip: null,
  session: "sess_1",
};

describe("a principal", () => {
  it("is named in the audit log by key, or by address and session", () => {
    expect(toActor(key)).toEqual({ kind: "key", id: "key-1", ip: "192.0.2.1" });
    expect(toActor(member)).toEqual({ kind: "user", id: "ada@example.com", ip: null, session: "sess_1" });
  });

  it("owns what is its organization's, and nothing else; the public owns nothing", () => {
    for (const principal of [key, member]) {
      expect(ownsRow(principal, { organization_id: "own" })).toBe(true);
      expect(ownsRow(principal, { organization_id: "other" })).toBe(false);
    }
    expect(ownsRow(null, { organization_id: "own" })).toBe(false);
  });
});
