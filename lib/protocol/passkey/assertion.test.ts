/** Assertions that another implementation made (vectors/make_assertions.py), and the verdicts of @simplewebauthn/server. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { type AuthenticationResponseJSON, verifyAuthenticationResponse } from "@simplewebauthn/server";
import { beforeAll, describe, expect, it } from "vitest";
import { base64UrlDecode, base64UrlEncode, hexEncode } from "#lib/protocol/encoding/bytes";
import { verifyEd25519Strict } from "#lib/protocol/keys/ed25519";
import { reasonCodes } from "#lib/protocol/statement/reasons";
import {
  approvalChallenge,
  checkAssertion,
  type ExpectedAssertion,
  loadAlgorithms,
  type PasskeyAssertion,
  type PasskeyDecision,
  toRelyingParty,
} from "./assertion";

interface Vectors {
  origin: string;
  rp_id: string;
  request_hash: string;
  challenges: Record<"approve" | "deny", string>;
  cases: { name: string; decision: PasskeyDecision; reason: string | null; assertion: PasskeyAssertion }[];
}

const file = path.resolve("lib/protocol/passkey/vectors/assertions.json");
const vectors = JSON.parse(readFileSync(file, "utf8")) as Vectors;
const { origin, rp_id: rpId, request_hash: requestHash, cases } = vectors;

beforeAll(() => loadAlgorithms(cases.map(({ assertion }) => assertion.public_key)));

const expectedOf = (decision: PasskeyDecision): ExpectedAssertion => ({
  origin,
  rpId,
  challenge: approvalChallenge(requestHash, decision),
});
const check = (assertion: PasskeyAssertion, decision: PasskeyDecision = "approve") =>
  checkAssertion(assertion, expectedOf(decision), verifyEd25519Strict);

async function isAcceptedByLibrary(assertion: PasskeyAssertion, decision: PasskeyDecision): Promise<boolean> {
  const { challenge } = expectedOf(decision);
  const id = base64UrlEncode(new Uint8Array(16));
  const response: AuthenticationResponseJSON = {
    id,
    rawId: id,
    type: "public-key",
    clientExtensionResults: {},
    response: {
      authenticatorData: assertion.authenticator_data,
      clientDataJSON: assertion.client_data_json,
      signature: assertion.signature,
    },
  };
  try {
    const { verified } = await verifyAuthenticationResponse({
      response,
      expectedChallenge: base64UrlEncode(challenge),
      expectedOrigin: origin,
      expectedRPID: rpId,
      requireUserVerification: true,
      credential: { id, publicKey: Uint8Array.from(base64UrlDecode(assertion.public_key)), counter: 0 },
    });
    return verified;
  } catch {
    return false;
  }
}

/** Where this verifier is stricter than the library: one spelling of each thing, and nothing inside another page. */
const stricter =
  /: (inside another page|client data with a name twice|a key with a byte more|members of the key in another order|a byte after the DER|a length in the long form)$/;

describe("an assertion of another implementation", () => {
  it.each(cases)("$name", async ({ name, assertion, decision, reason }) => {
    const found = check(assertion, decision);
    expect(found.reason ?? null).toBe(reason);
    expect(found.status).toBe(reason === null ? "pass" : "fail");
    expect(found.detail).not.toMatch(/\{|undefined/);
    // Node 20 has no ML-DSA for it.
    if (name.startsWith("ML-DSA")) return;
    const isAccepted = await isAcceptedByLibrary(assertion, decision);
    expect(isAccepted).toBe(reason === null || stricter.test(name));
  });

  it("has a case for every reason of an assertion", () => {
    // One reason is no assertion's: a passkey where none was asked for.
    const found = new Set([...cases.map(({ reason }) => reason), "passkey_unexpected"]);
    expect(reasonCodes.filter((code) => code.startsWith("passkey_") && !found.has(code))).toEqual([]);
  });

  it("has the challenge of the request and the decision", () => {
    expect(hexEncode(approvalChallenge(requestHash, "approve"))).toBe(vectors.challenges.approve);
    expect(hexEncode(approvalChallenge(requestHash, "deny"))).toBe(vectors.challenges.deny);
    expect(hexEncode(approvalChallenge(requestHash, "revoke"))).not.toBe(vectors.challenges.approve);
    expect(() => approvalChallenge(requestHash.slice(2), "deny")).toThrow(RangeError);
    expect(() => approvalChallenge(requestHash.toUpperCase(), "deny")).toThrow(RangeError);
  });
});

describe("checkAssertion", () => {
  const good = cases.filter(({ name }) => name.endsWith(": good"));

  it.each(good)("fails with any bit of any field changed ($name)", ({ assertion }) => {
    for (const [field, text] of Object.entries(assertion)) {
      const bytes = base64UrlDecode(text);
      // Long keys and signatures at some places: each verification of ML-DSA takes milliseconds.
      const step = bytes.length > 1_000 ? 97 : field === "client_data_json" ? 5 : 1;
      for (let bit = 0; bit < bytes.length * 8; bit += step) {
        const changed = bytes.slice();
        changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        expect(check({ ...assertion, [field]: base64UrlEncode(changed) }).status).toBe("fail");
      }
      for (const malformed of ["", `${text}=`, `${text}A`, "!", text.slice(0, -4)])
        expect(check({ ...assertion, [field]: malformed }).status).toBe("fail");
    }
  });

  it.each(good)("fails where something else is expected ($name)", ({ assertion }) => {
    const expected = expectedOf("approve");
    const reasonOf = (change: Partial<ExpectedAssertion>) =>
      checkAssertion(assertion, { ...expected, ...change }, verifyEd25519Strict).reason;
    expect(reasonOf({})).toBeUndefined();
    expect(reasonOf({ origin: "https://elsewhere.example" })).toBe("passkey_origin_mismatch");
    expect(reasonOf({ rpId: "example" })).toBe("passkey_site_mismatch");
    expect(reasonOf({ challenge: approvalChallenge("0".repeat(64), "approve") })).toBe(
      "passkey_challenge_mismatch",
    );
    expect(reasonOf({ challenge: new Uint8Array() })).toBe("passkey_challenge_mismatch");
  });
});

describe("relyingPartyOf", () => {
  it("answers what browsers write", () => {
    expect(toRelyingParty("https://Countersign.example:443/base")).toEqual({ origin, rpId });
    expect(toRelyingParty("http://localhost:3000")).toEqual({
      origin: "http://localhost:3000",
      rpId: "localhost",
    });
    expect(() => toRelyingParty("localhost")).toThrow(TypeError);
  });
});
