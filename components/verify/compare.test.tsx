import { describe, expect, it } from "vitest";
import type { VerifierReport } from "#lib/verifier/report";
import { browserStatus, compareWithServer } from "./compare";

const report = (verdict: VerifierReport["verdict"], missing: string[] = []) =>
  ({
    verdict,
    missing,
    checks: [{ name: "signature", status: "not_applicable", detail: "the payload is private" }],
  }) as unknown as VerifierReport;

const checks = [{ name: "signature", status: "pass" }] as const;
const page = (valid: boolean | null) => ({ valid, payloadHash: "aa", checks });
const answer = (valid: boolean | null, hash = "aa") => ({ valid, payload_hash: hash, checks });

describe("this server against this browser", () => {
  it("finds nothing where all agree", () => {
    expect(compareWithServer(page(true), answer(true), report("valid"))).toEqual([]);
    expect(compareWithServer(page(true), answer(true), report("incomplete"))).toEqual([]);
    expect(compareWithServer(page(false), answer(false), report("invalid"))).toEqual([]);
    expect(compareWithServer(page(null), answer(null), report("erased"))).toEqual([]);
  });

  it("catches a server that says valid over bytes that are not, and the reverse", () => {
    expect(compareWithServer(page(true), answer(true), report("invalid"))).toHaveLength(1);
    expect(compareWithServer(page(false), answer(false), report("valid"))).toHaveLength(1);
    expect(compareWithServer(page(null), answer(null), report("invalid"))).toHaveLength(1);
  });

  it("catches a server that says two things", () => {
    expect(compareWithServer(page(true), answer(false), report("valid"))).toHaveLength(1);
    expect(compareWithServer(page(true), answer(true, "bb"), report("valid"))).toHaveLength(1);
    const other = { ...answer(true), checks: [{ name: "signature", status: "fail" }] };
    expect(compareWithServer(page(true), other, report("valid"))).toHaveLength(1);
  });

  it("does not say that a check without its bytes does not apply", () => {
    expect(browserStatus(report("incomplete", ["signature"]), "signature").status).toBe("unavailable");
    expect(browserStatus(report("erased", ["signature"]), "signature").status).toBe("not_applicable");
    expect(browserStatus(report("valid"), "no such check").status).toBe("unavailable");
  });
});
