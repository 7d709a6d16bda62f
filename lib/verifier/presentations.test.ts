/** Presentations as an outsider verifies them: what they are held to beside their own proof. */
import { beforeAll, describe, expect, it } from "vitest";
import { disclosureMessages, type MessageName, type ZkKeyPair } from "#lib/protocol/presentation/disclosure";
import { derivePresentation, signMessages, type ZkCredential } from "#lib/protocol/presentation/presentation";
import type { VerifierTrust } from "#lib/verifier/checks/trust";
import { type Expectation, verifyEvidence } from "#lib/verifier/checks/verify-evidence";
import { listUncompared, wordsFor } from "#lib/verifier/report/report";
import { testKeyPair, testPayload } from "#support/disclosure";

const nowSeconds = 1_000;
const asked = { audience: "bank", nonce: "n-1", nowSeconds };
let keyPair: ZkKeyPair;
let payload: Uint8Array;
let credential: ZkCredential;

beforeAll(async () => {
  keyPair = await testKeyPair();
  payload = testPayload(keyPair.publicKey, {
    human_approval: {
      method: "proof_of_personhood",
      level: "orb",
      request_hash: "r",
      authorization_hash: "a",
      nullifier_hashes: ["0x1"],
      approver_ids: [],
      environment: "local",
      inputs_bound: true,
    },
  });
  credential = await signMessages(keyPair, disclosureMessages(payload));
});

const present = (...disclose: MessageName[]) =>
  derivePresentation(credential, disclose, {
    kind: "audience",
    audience: "bank",
    nonce: "n-1",
    issuedAtSeconds: nowSeconds - 10,
    expiresAtSeconds: nowSeconds + 10,
  });

function verify(presentation: unknown, expected: Expectation, isRevoked = false) {
  const keys = [keyPair.publicKey];
  const trust: VerifierTrust = {
    keys: [],
    logKeys: [],
    zkKeys: isRevoked ? [] : keys,
    revokedZkKeys: isRevoked ? keys : [],
  };
  return verifyEvidence(presentation, trust, expected);
}

describe("a presentation by itself", () => {
  it("shows its values, for whom it was made, and TEST where it discloses that", async () => {
    const report = await verify(await present("human_approved", "human_approval_environment"), asked);
    expect(report).toMatchObject({
      verdict: "valid",
      isTest: true,
      presentationHeader: { audience: "bank" },
    });
    expect(wordsFor(report).title).toBe("Valid presentation, 1 warning");
    expect(report.warnings).toMatchObject([{ code: "approval_test" }]);
    expect(report.disclosed).toEqual([
      { name: "human_approved", value: true },
      { name: "human_approval_environment", value: "local" },
    ]);
    expect(listUncompared(report)).toEqual([]);
  });

  it("is held to audience, nonce and time, and what was not compared is named", async () => {
    const presentation = await present("action");
    for (const other of [{ audience: "shop" }, { nonce: "n-2" }, { nowSeconds: 2_000 }, { nowSeconds: 1 }]) {
      const report = await verify(presentation, { ...asked, ...other });
      expect([report.verdict, report.disclosed, report.presentationHeader]).toEqual(["invalid", [], null]);
    }
    const open = await verify(presentation, { nowSeconds });
    expect([open.verdict, listUncompared(open)]).toEqual(["valid", ["audience", "nonce"]]);
  });

  it("is about a payload only where it discloses that payload's hash", async () => {
    const other = testPayload(keyPair.publicKey);
    const bound = await present("payload_hash", "human_approved");
    const loose = await present("human_approved", "issued_month");
    const verdict = async (presentation: unknown, about: Uint8Array) =>
      (await verify(presentation, { ...asked, payload: about })).verdict;
    expect(await verdict(bound, payload)).toBe("valid");
    expect(await verdict(bound, other)).toBe("invalid");
    expect(await verdict(loose, payload)).toBe("invalid");
    expect(await verdict(loose, other)).toBe("invalid");
  });

  it("under a revoked key is not valid, whatever payload lies beside it", async () => {
    const presentation = await present("payload_hash", "action");
    for (const expected of [asked, { ...asked, payload }])
      expect((await verify(presentation, expected, true)).verdict).toBe("invalid");
  });
});
