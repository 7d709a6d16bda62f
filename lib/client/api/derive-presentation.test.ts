import { beforeAll, describe, expect, it } from "vitest";
import { disclosureMessages, type ZkKeyPair } from "#lib/protocol/presentation/disclosure";
import { signMessages, type ZkCredential } from "#lib/protocol/presentation/presentation";
import { verifyPresentation } from "#lib/verifier/checks/presentation-verify";
import { testKeyPair, testPayload } from "#support/disclosure";
import { derivePresentation } from "./derive-presentation";

let keyPair: ZkKeyPair;
let credential: ZkCredential;
beforeAll(async () => {
  keyPair = await testKeyPair();
  const signed = await signMessages(keyPair, disclosureMessages(testPayload(keyPair.publicKey)));
  // The owner keeps the credential as text.
  credential = JSON.parse(JSON.stringify(signed));
});

const request = { audience: "https://bank.example", nonce: "n-1" };
const pinned = () => ({ pinnedKeys: [keyPair.publicKey] });

describe("a presentation that the owner derives alone", () => {
  it("verifies for the verifier it names, in its hour", async () => {
    const issuedAt = new Date("2026-11-21T10:00:00.900Z");
    const disclose = ["human_approved", "action"] as const;
    const presentation = await derivePresentation(credential, { ...request, disclose, issuedAt });
    const nowSeconds = Date.parse("2026-11-21T10:59:59Z") / 1_000;
    const report = await verifyPresentation(presentation, {
      ...pinned(),
      expected: { ...request, nowSeconds },
    });
    expect(report.disclosed.map(({ name }) => name)).toEqual(["action", "human_approved"]);
    expect(report.ok).toBe(true);
    const later = { ...request, nowSeconds: nowSeconds + 1 };
    expect((await verifyPresentation(presentation, { ...pinned(), expected: later })).ok).toBe(false);
  });

  it("is made for this moment unless another is given", async () => {
    const presentation = await derivePresentation(credential, {
      ...request,
      disclose: [],
      expiresInSeconds: 60,
    });
    const nowSeconds = Date.now() / 1_000;
    const inTime = await verifyPresentation(presentation, { ...pinned(), expected: { nowSeconds } });
    expect(inTime.ok).toBe(true);
    const late = await verifyPresentation(presentation, {
      ...pinned(),
      expected: { nowSeconds: nowSeconds + 61 },
    });
    expect(late.ok).toBe(false);
  });

  it("is not made from a credential whose signature does not fit", async () => {
    const messages = credential.messages.map((text) =>
      text.replace('["code_hash_verified",false]', '["code_hash_verified",true]'),
    );
    expect(messages).not.toEqual(credential.messages);
    const disclose = ["code_hash_verified"] as const;
    await expect(derivePresentation({ ...credential, messages }, { ...request, disclose })).rejects.toThrow(
      "does not fit",
    );
  });

  it("is not created for everyone, without expiry, or with the blinding", async () => {
    const disclose = ["action"] as const;
    await expect(
      derivePresentation(credential, { ...request, disclose, audience: "public" }),
    ).rejects.toThrow(RangeError);
    await expect(
      derivePresentation(credential, { ...request, disclose, expiresInSeconds: 0 }),
    ).rejects.toThrow(RangeError);
    await expect(derivePresentation(credential, { ...request, disclose: ["blinding"] })).rejects.toThrow(
      RangeError,
    );
  });
});
