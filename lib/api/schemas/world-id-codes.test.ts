/** No code of World's is met for the first time on a page. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { IDKitErrorCodes } from "@worldcoin/idkit";
import { describe, expect, it } from "vitest";
import { explainPortalCode, findIdkitWords, idkitWords } from "./world-id-codes";

/** The union in IDKit's declarations, which lists other codes than its enum. Types are gone at run time. */
function readDeclaredCodes(): string[] {
  const idkit = "@worldcoin/idkit";
  // Resolved from IDKit: it is not a dependency of ours.
  const require = createRequire(createRequire(import.meta.url).resolve(idkit));
  const main = require.resolve(`${idkit}-core`);
  const declarations = readFileSync(main.replace(/index\.c?js$/, "index.d.ts"), "utf8");
  const union = /type IDKitErrorCode =([^;]*);/.exec(declarations)?.[1] ?? "";
  return [...union.matchAll(/"([a-z0-9_]+)"/g)].map(([, code]) => code ?? "");
}

describe("IDKit's codes", () => {
  it("are all in the table, and nothing else is", () => {
    const declared = readDeclaredCodes();
    expect(declared.length).toBeGreaterThan(20);
    const listed = new Set<string>([...declared, ...Object.values(IDKitErrorCodes)]);
    expect(Object.keys(idkitWords).sort()).toEqual([...listed].sort());
  });

  it("have sentences, not codes", () => {
    for (const [code, { title, text }] of Object.entries(idkitWords)) {
      expect([code, /^[A-Z][^_]*[^.]$/.test(title), /^[A-Z][^_]*\.$/.test(text)]).toEqual([code, true, true]);
    }
    expect(findIdkitWords("toString")).toBeUndefined();
    expect(findIdkitWords("never_heard_of")).toBeUndefined();
  });
});

describe("the portal's codes", () => {
  /** Codes in the portal's public source and documentation. */
  const codes = [
    ...["invalid_proof", "invalid_merkle_root", "root_too_old", "prover_error", "invalid_format"],
    ...["invalid_root", "outdated_nullifier", "nullifier_from_future", "invalid_credential_issuer"],
    ...["invalid_public_input", "verification_failed", "verification_error", "generic_error"],
    ...["validation_error", "invalid_request", "app_not_migrated", "rp_not_active", "not_found"],
    ...["all_verifications_failed", "environment_mismatch", "environment_not_allowed", "internal_error"],
    ...["protocol_version_not_allowed", "integrity_verification_failed", "configuration_error"],
  ];

  it.each(codes)("%s has its words", (code) => {
    expect(explainPortalCode(code).text).not.toContain("_");
  });

  it("that are new are reported as unknown, and never as a yes", () => {
    for (const code of ["brand_new", "toString", "x".repeat(5000)]) {
      const { text, isTransient } = explainPortalCode(code);
      expect(text).toContain("does not know");
      expect(text.length).toBeLessThan(200);
      expect(isTransient).toBeUndefined();
    }
  });
});
