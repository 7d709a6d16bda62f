import { describe, expect, it } from "vitest";
import { buildContentSecurityPolicy, worldBridgeOrigin } from "./content-security-policy";

const base = { nonce: "bm9uY2U", allowWorldId: false, secure: true, development: false };
const directive = (policy: string, name: string) =>
  policy
    .split("; ")
    .find((part) => part.startsWith(`${name} `))
    ?.split(" ")
    .slice(1);

describe("content security policy", () => {
  it("runs only scripts that carry the nonce, and frames nowhere", () => {
    const policy = buildContentSecurityPolicy(base);
    expect(directive(policy, "script-src")).toEqual(["'self'", "'nonce-bm9uY2U'", "'strict-dynamic'"]);
    expect(directive(policy, "style-src")).toEqual(["'self'", "'nonce-bm9uY2U'"]);
    expect(directive(policy, "connect-src")).toEqual(["'self'"]);
    expect(directive(policy, "frame-ancestors")).toEqual(["'none'"]);
    expect(directive(policy, "default-src")).toEqual(["'none'"]);
    expect(directive(policy, "base-uri")).toEqual(["'none'"]);
    expect(directive(policy, "form-action")).toEqual(["'self'"]);
    expect(policy).toContain("upgrade-insecure-requests");
  });

  it("opens WebAssembly and World's bridge for the approval page alone", () => {
    const policy = buildContentSecurityPolicy({ ...base, allowWorldId: true });
    expect(directive(policy, "script-src")).toContain("'wasm-unsafe-eval'");
    expect(directive(policy, "connect-src")).toEqual(["'self'", worldBridgeOrigin]);
    expect(policy).not.toContain("'unsafe-eval'");
  });

  it("asks for https only where the public address is https", () => {
    expect(buildContentSecurityPolicy({ ...base, secure: false })).not.toContain("upgrade-insecure-requests");
  });
});
