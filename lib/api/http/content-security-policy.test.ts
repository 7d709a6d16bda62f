import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { buildContentSecurityPolicy, worldBridgeOrigin } from "./common-headers";
import { plainPage } from "./plain-page";

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
    expect(directive(policy, "style-src")?.slice(0, -1)).toEqual(["'self'", "'nonce-bm9uY2U'"]);
    expect(directive(policy, "connect-src")).toEqual(["'self'"]);
    expect(directive(policy, "frame-ancestors")).toEqual(["'none'"]);
    expect(directive(policy, "default-src")).toEqual(["'none'"]);
    expect(directive(policy, "base-uri")).toEqual(["'none'"]);
    expect(directive(policy, "form-action")).toEqual(["'self'"]);
    expect(policy).toContain("upgrade-insecure-requests");
  });

  it("allows the style of the plain pages that answer forms without JavaScript, and no other", () => {
    const page = plainPage({ status: 409, title: "Too late", text: "It was decided before." });
    const [, style = ""] = /<style>(.*)<\/style>/.exec(page.text) ?? [];
    const hash = createHash("sha256").update(style).digest("base64");
    expect(directive(buildContentSecurityPolicy(base), "style-src")?.at(-1)).toBe(`'sha256-${hash}'`);
    expect(page.headers?.["content-security-policy"]).toContain(`style-src 'sha256-${hash}';`);
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
