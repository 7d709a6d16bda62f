import { deriveProof, verifyProof } from "@digitalbazaar/bbs-signatures";
import { beforeAll, describe, expect, it } from "vitest";
import {
  base64UrlDecode,
  base64UrlEncode,
  bytesEqual,
  hexEncode,
  utf8Encode,
} from "#lib/protocol/encoding/bytes";
import type { PresentationExpectation } from "#lib/verifier/checks/presentation-checks";
import {
  PRESENTATION_CHECKS,
  summarizePublicProof,
  type VerifyPresentationOptions,
  verifyPresentation,
} from "#lib/verifier/checks/presentation-verify";
import { ATTESTATION_ID, testKeyPair, testPayload } from "#support/disclosure";
import {
  BBS_CIPHERSUITE,
  DISCLOSURE_HEADER,
  disclosureMessages,
  MESSAGE_NAMES,
  type MessageName,
  PUBLIC_MESSAGE_NAMES,
  type ZkKeyPair,
} from "./disclosure";
import {
  type AudienceHeader,
  derivePresentation,
  derivePublicProof,
  signMessages,
  type ZkCredential,
  type ZkProof,
} from "./presentation";

const AUDIENCE: AudienceHeader = {
  kind: "audience",
  audience: "https://bank.example",
  nonce: "nonce-1",
  issuedAtSeconds: 1_795_233_600,
  expiresAtSeconds: 1_795_237_200,
};

let keyPair: ZkKeyPair;
let payload: Uint8Array;
let credential: ZkCredential;
let publicProof: ZkProof;
let presentation: ZkProof;

beforeAll(async () => {
  keyPair = await testKeyPair();
  payload = testPayload(keyPair.publicKey);
  credential = await signMessages(keyPair, disclosureMessages(payload));
  publicProof = await derivePublicProof(credential);
  presentation = await derivePresentation(credential, ["human_approved", "issued_month"], AUDIENCE);
});

type Expected = NonNullable<VerifyPresentationOptions["expected"]>;
const verify = (zkProof: unknown, expected: Expected = {}) =>
  verifyPresentation(zkProof, { pinnedKeys: [keyPair.publicKey], expected });

/** The name of the one check that fails, and that nothing is shown as proven then. */
async function failedCheck(zkProof: unknown, expected: Expected = {}): Promise<string | undefined> {
  const report = await verify(zkProof, expected);
  const failed = report.checks.filter(({ status }) => status === "fail");
  expect(report.ok).toBe(failed.length === 0);
  expect(report.checks.map(({ name }) => name)).toEqual([...PRESENTATION_CHECKS]);
  if (report.ok) return undefined;
  expect(failed).toHaveLength(1);
  expect(report.disclosed).toEqual([]);
  expect(report.presentationHeader).toBeNull();
  return failed[0]?.name;
}

const message = (index: number) => credential.messages[index] ?? "";
const nameIndex = (name: MessageName) => MESSAGE_NAMES.indexOf(name);

describe("a public proof", () => {
  it("verifies and shows exactly the public values", async () => {
    const report = await verify(publicProof, { attestationId: ATTESTATION_ID, audience: "public", payload });
    expect(report.ok).toBe(true);
    expect(Object.fromEntries(report.disclosed.map(({ name, value }) => [name, value]))).toEqual({
      schema: "https://countersign.dev/disclosure/v1",
      attestation_id: ATTESTATION_ID,
      issued_month: "2026-11",
      agent_slug: "payments-agent",
      agent_authenticated: true,
      code_hash_verified: false,
      tools_authorized: null,
      human_approved: true,
      human_approval_method: "proof_of_personhood",
      human_approval_environment: "production",
    });
    expect(base64UrlDecode(publicProof.proof)).toHaveLength(272 + 32 * 14);
  });

  it("survives its way through JSON text", async () => {
    expect(await failedCheck(JSON.parse(JSON.stringify(publicProof)))).toBeUndefined();
  });

  it("is about its own attestation and no other", async () => {
    expect(await failedCheck(publicProof, { attestationId: "0198a1b2-0000-7000-8000-000000000002" })).toBe(
      "attestation_id",
    );
  });

  it("cannot answer a verifier who asked for himself", async () => {
    expect(await failedCheck(publicProof, { audience: "https://bank.example" })).toBe("audience");
    expect(await failedCheck(publicProof, { nonce: "nonce-1" })).toBe("nonce");
  });

  it("is refused with a public header around other messages", async () => {
    const header = { kind: "public", attestationId: ATTESTATION_ID } as const;
    const more = await derivePresentation(credential, [...PUBLIC_MESSAGE_NAMES, "action"], header);
    expect(await failedCheck(more)).toBe("indexes");
    const elsewhere = { kind: "public", attestationId: "another" } as const;
    expect(await failedCheck(await derivePresentation(credential, PUBLIC_MESSAGE_NAMES, elsewhere))).toBe(
      "attestation_id",
    );
  });
});

describe("the payload and the proof cannot say different things", () => {
  it("a message that does not follow from the payload fails", async () => {
    const human_approval = { method: "none" as const };
    const other = testPayload(keyPair.publicKey, { human_approval });
    expect(await failedCheck(publicProof, { payload: other })).toBe("payload");
  });

  it("a payload that names another BBS key fails", async () => {
    const foreign = await testKeyPair(9);
    expect(await failedCheck(publicProof, { payload: testPayload(foreign.publicKey) })).toBe("payload");
  });

  it("a payload that is none fails", async () => {
    expect(await failedCheck(publicProof, { payload: utf8Encode("{}") })).toBe("payload");
  });
});

describe("a presentation for one verifier", () => {
  const wanted = { audience: AUDIENCE.audience, nonce: AUDIENCE.nonce, nowSeconds: 1_795_233_600 };

  it("verifies for them, and shows whom it was made for", async () => {
    const report = await verify(presentation, wanted);
    expect(report.ok).toBe(true);
    expect(report.presentationHeader).toEqual(AUDIENCE);
    expect(report.disclosed).toEqual([
      { index: 5, name: "issued_month", value: "2026-11" },
      { index: 18, name: "human_approved", value: true },
    ]);
  });

  it("is made for as long a name and nonce as the API takes, in Unicode code points", async () => {
    const header = { ...AUDIENCE, audience: "😀".repeat(512), nonce: "😀".repeat(256) };
    const { audience, nonce } = header;
    const long = await derivePresentation(credential, [], header);
    expect(await failedCheck(long, { ...wanted, audience, nonce })).toBeUndefined();
    const longer = { ...header, nonce: `${nonce}a` };
    await expect(derivePresentation(credential, [], longer)).rejects.toThrow(RangeError);
  });

  it("fails for another audience, another nonce, too late and too early", async () => {
    expect(await failedCheck(presentation, { ...wanted, audience: "https://other.example" })).toBe(
      "audience",
    );
    expect(await failedCheck(presentation, { ...wanted, audience: "public" })).toBe("audience");
    expect(await failedCheck(presentation, { ...wanted, nonce: "nonce-2" })).toBe("nonce");
    expect(await failedCheck(presentation, { ...wanted, nowSeconds: AUDIENCE.expiresAtSeconds })).toBe(
      "validity_period",
    );
    expect(await failedCheck(presentation, { ...wanted, nowSeconds: AUDIENCE.issuedAtSeconds - 61 })).toBe(
      "validity_period",
    );
    expect(await failedCheck(presentation, { ...wanted, attestationId: ATTESTATION_ID })).toBe(
      "attestation_id",
    );
  });

  it("cannot be given another audience or a longer life", async () => {
    const text = new TextDecoder().decode(base64UrlDecode(presentation.presentation_header));
    for (const forged of [text.replace("bank", "evil"), text.replace("1795237200", "1995237200")]) {
      expect(forged).not.toBe(text);
      const presentation_header = base64UrlEncode(utf8Encode(forged));
      expect(await failedCheck({ ...presentation, presentation_header })).toBe("proof");
    }
  });

  it("may disclose nothing, or all but the blinding", async () => {
    expect(await failedCheck(await derivePresentation(credential, [], AUDIENCE))).toBeUndefined();
    const all = MESSAGE_NAMES.filter((name) => name !== "blinding");
    const everything = await derivePresentation(credential, all, AUDIENCE);
    expect(await failedCheck(everything, { payload })).toBeUndefined();
  });
});

describe("deriving", () => {
  it("sorts and de-duplicates, where the library would make an invalid proof", async () => {
    const names = ["human_approved", "issued_month", "human_approved", "agent_slug"] as const;
    const derived = await derivePresentation(credential, names, AUDIENCE);
    expect(Object.keys(derived.disclosed)).toEqual(["5", "6", "18"]);
    expect(await failedCheck(derived)).toBeUndefined();
    const input = {
      publicKey: keyPair.publicKey,
      header: DISCLOSURE_HEADER,
      presentationHeader: new Uint8Array([1]),
      ciphersuite: BBS_CIPHERSUITE,
    };
    const proof = await deriveProof({
      ...input,
      signature: base64UrlDecode(credential.signature),
      messages: credential.messages.map(utf8Encode),
      disclosedMessageIndexes: [18, 5],
    });
    const disclosedMessages = [5, 18].map((index) => utf8Encode(message(index)));
    expect(await verifyProof({ ...input, proof, disclosedMessages, disclosedMessageIndexes: [5, 18] })).toBe(
      false,
    );
  });

  it("never discloses the blinding, and knows its names", async () => {
    await expect(derivePresentation(credential, ["blinding"], AUDIENCE)).rejects.toThrow(RangeError);
    await expect(derivePresentation(credential, ["constructor" as MessageName], AUDIENCE)).rejects.toThrow(
      RangeError,
    );
  });

  it("refuses a credential that is not of this schema", async () => {
    const { messages, signature } = credential;
    for (const wrong of [
      { kid: "A".repeat(43) },
      { public_key: base64UrlEncode((await testKeyPair(9)).publicKey) },
      { header: base64UrlEncode(utf8Encode("{}")) },
      { signature: signature.slice(0, -4) },
      { signature: "!" },
      { messages: messages.slice(1) },
      { messages: [...messages].reverse() },
      { messages: [...messages, '["x",1]'] },
    ]) {
      await expect(derivePresentation({ ...credential, ...wrong }, [], AUDIENCE)).rejects.toThrow(RangeError);
    }
    await expect(signMessages(keyPair, messages.slice(1))).rejects.toThrow(RangeError);
  });

  it("from a changed message or signature makes a proof that does not verify", async () => {
    const index = nameIndex("human_approved");
    const lie = credential.messages.map((text, i) => (i === index ? '["human_approved",false]' : text));
    const lying = await derivePresentation({ ...credential, messages: lie }, ["human_approved"], AUDIENCE);
    expect(await failedCheck(lying)).toBe("proof");
  });
});

describe("a hostile presentation", () => {
  const withDisclosed = (disclosed: Record<string, string>) => ({ ...publicProof, disclosed });

  it("with any disclosed value changed does not verify", async () => {
    for (const [index, text] of [
      ["18", '["human_approved",false]'],
      ["6", '["agent_slug","another-agent"]'],
      ["17", '["tools_authorized",true]'],
    ] as const) {
      expect(await failedCheck(withDisclosed({ ...publicProof.disclosed, [index]: text }))).toBe("proof");
    }
  });

  it("with swapped messages fails", async () => {
    const swapped = { ...publicProof.disclosed, 15: message(18), 18: message(15) };
    expect(await failedCheck(withDisclosed(swapped))).toBe("messages");
  });

  it("with an index moved, added or left out fails", async () => {
    const { "5": month, ...rest } = presentation.disclosed;
    expect(await failedCheck({ ...presentation, disclosed: { ...rest, 4: month } })).toBe("messages");
    expect(await failedCheck({ ...presentation, disclosed: rest })).toBe("length");
    expect(
      await failedCheck({ ...presentation, disclosed: { ...presentation.disclosed, 9: message(9) } }),
    ).toBe("length");
    const { "18": flag, ...month5 } = presentation.disclosed;
    expect(flag).toBeDefined();
    const moved = { ...month5, 21: message(21) };
    expect(await failedCheck({ ...presentation, disclosed: moved })).toBe("proof");
  });

  // JSON.parse puts integer keys in ascending order and keeps one of two equal keys: what is left to
  // forge is a second spelling of an index, which would come out of order and twice.
  it("with duplicate, unsorted or misspelt indexes fails", async () => {
    const { "18": flag = "", ...rest } = presentation.disclosed;
    for (const key of [
      "018",
      "18.0",
      " 18",
      "1.8e1",
      "+18",
      "-1",
      "24",
      "0x12",
      "length",
      "__proto__",
      "",
      "4294967295",
    ]) {
      const disclosed = JSON.parse(
        `{${JSON.stringify(key)}:${JSON.stringify(flag)},"5":${JSON.stringify(rest["5"])}}`,
      );
      expect(Object.keys(disclosed)).toHaveLength(2);
      expect(await failedCheck({ ...presentation, disclosed })).toBe("indexes");
    }
    const unsorted = JSON.parse(`{"18":${JSON.stringify(flag)},"5":${JSON.stringify(rest["5"])}}`);
    expect(Object.keys(unsorted)).toEqual(["5", "18"]);
    expect(await failedCheck({ ...presentation, disclosed: unsorted })).toBeUndefined();
  });

  it("that discloses the blinding is refused even if the proof is right", async () => {
    const indexes = [5, 23];
    const header = base64UrlDecode(presentation.presentation_header);
    const proof = await deriveProof({
      publicKey: keyPair.publicKey,
      signature: base64UrlDecode(credential.signature),
      header: DISCLOSURE_HEADER,
      messages: credential.messages.map(utf8Encode),
      presentationHeader: header,
      disclosedMessageIndexes: indexes,
      ciphersuite: BBS_CIPHERSUITE,
    });
    const disclosed = { 5: message(5), 23: message(23) };
    expect(await failedCheck({ ...presentation, disclosed, proof: base64UrlEncode(proof) })).toBe("indexes");
  });

  it("with a message in another spelling fails", async () => {
    for (const text of [
      '["human_approved", true]',
      '["human_approv\\u0065d",true]',
      '["human_approved",true] ',
      "true",
    ]) {
      const disclosed = { ...publicProof.disclosed, 18: text };
      expect(await failedCheck(withDisclosed(disclosed))).toBe("messages");
    }
  });

  it("truncated, prolonged or with any byte of the proof changed fails", async () => {
    const bytes = base64UrlDecode(publicProof.proof);
    expect(await failedCheck({ ...publicProof, proof: base64UrlEncode(bytes.subarray(0, -1)) })).toBe(
      "length",
    );
    expect(await failedCheck({ ...publicProof, proof: base64UrlEncode(bytes.subarray(0, -32)) })).toBe(
      "length",
    );
    const longer = new Uint8Array(bytes.length + 32);
    longer.set(bytes);
    expect(await failedCheck({ ...publicProof, proof: base64UrlEncode(longer) })).toBe("length");
    expect(await failedCheck({ ...publicProof, proof: `${publicProof.proof}=` })).toBe("length");
    for (const position of [0, 1, 47, 60, 100, 150, 200, 400, bytes.length - 1]) {
      const changed = Uint8Array.from(bytes);
      changed[position] = (changed[position] ?? 0) ^ 1;
      expect(await failedCheck({ ...publicProof, proof: base64UrlEncode(changed) })).toBe("proof");
    }
  });

  it("with points at infinity or scalars of zero or beyond the order fails", async () => {
    const bytes = base64UrlDecode(publicProof.proof);
    const infinity = new Uint8Array(48);
    infinity[0] = 0xc0;
    for (const [position, part] of [
      [0, infinity],
      [48, infinity],
      [96, infinity],
      [144, new Uint8Array(32)],
      [bytes.length - 32, new Uint8Array(32)],
      [144, new Uint8Array(32).fill(255)],
    ] as const) {
      const changed = Uint8Array.from(bytes);
      changed.set(part, position);
      expect(await failedCheck({ ...publicProof, proof: base64UrlEncode(changed) })).toBe("proof");
    }
  });

  it("under a foreign, unpinned or misnamed key fails", async () => {
    const foreign = await testKeyPair(9);
    const foreignProof = await derivePublicProof(
      await signMessages(foreign, disclosureMessages(testPayload(foreign.publicKey))),
    );
    expect((await verifyPresentation(foreignProof, { pinnedKeys: [foreign.publicKey] })).ok).toBe(true);
    expect(await failedCheck(foreignProof)).toBe("pinned_key");
    expect(await failedCheck({ ...publicProof, public_key: foreignProof.public_key })).toBe("pinned_key");
    expect(await failedCheck({ ...publicProof, kid: foreignProof.kid })).toBe("pinned_key");
    const disguised = { ...foreignProof, kid: publicProof.kid, public_key: publicProof.public_key };
    expect(await failedCheck(disguised)).toBe("proof");
    const unpinned = await verifyPresentation(publicProof, { pinnedKeys: [] });
    expect(unpinned.ok).toBe(false);
    const rotated = await verifyPresentation(publicProof, {
      pinnedKeys: [foreign.publicKey, keyPair.publicKey],
    });
    expect(rotated.ok).toBe(true);
  });

  it("under a revoked key counts beside its payload alone", async () => {
    const payload = testPayload(keyPair.publicKey);
    const revokedKeys = [keyPair.publicKey];
    const check = (expected: PresentationExpectation) =>
      verifyPresentation(publicProof, { pinnedKeys: revokedKeys, revokedKeys, expected });
    const nothing = { status: "not_applicable", reason: "zk_key_revoked" };
    const bare = await check({});
    expect([bare.ok, bare.isKeyRevoked, bare.disclosed]).toEqual([false, true, []]);
    expect(summarizePublicProof(bare, false).outcome).toMatchObject(nothing);
    const beside = await check({ payload });
    expect([beside.ok, summarizePublicProof(beside, true).outcome.status]).toEqual([true, "pass"]);
    expect(summarizePublicProof(beside, false).outcome).toMatchObject(nothing);
    const other = testPayload(keyPair.publicKey, {
      timestamp: "2026-10-21T03:04:05.678Z",
    });
    expect(summarizePublicProof(await check({ payload: other }), true).outcome).toMatchObject({
      status: "fail",
      reason: "field_mismatch",
    });
  });

  it("of another suite, schema, header or count fails", async () => {
    expect(await failedCheck({ ...publicProof, type: "bbs-selective-disclosure/2" })).toBe("suite");
    expect(await failedCheck({ ...publicProof, ciphersuite: "BBS_BLS12381G1_XOF:SHAKE-256_SSWU_RO_" })).toBe(
      "suite",
    );
    expect(await failedCheck({ ...publicProof, schema: `${publicProof.schema}x` })).toBe("suite");
    expect(await failedCheck({ ...publicProof, header: base64UrlEncode(utf8Encode("{}")) })).toBe("header");
    expect(await failedCheck({ ...publicProof, header: `${publicProof.header}=` })).toBe("header");
    expect(await failedCheck({ ...publicProof, presentation_header: "e30" })).toBe("header");
    expect(await failedCheck({ ...publicProof, total_messages: 23 })).toBe("length");
    expect(await failedCheck({ ...publicProof, total_messages: 1e9 })).toBe("length");
  });

  it("of any other shape is a fail, not an exception", async () => {
    const { proof, ...withoutProof } = publicProof;
    const many = Object.fromEntries(Array.from({ length: 25 }, (_, i) => [i, "x"]));
    for (const value of [
      undefined,
      null,
      7,
      "proof",
      [],
      {},
      withoutProof,
      { ...publicProof, extra: 1 },
      { ...publicProof, proof: 7 },
      { ...publicProof, proof: proof.repeat(2) },
      { ...publicProof, proof: "A".repeat(10_000_000) },
      { ...publicProof, presentation_header: "A".repeat(10_000) },
      { ...publicProof, total_messages: "24" },
      { ...publicProof, disclosed: null },
      { ...publicProof, disclosed: [] },
      { ...publicProof, disclosed: { 18: true } },
      { ...publicProof, disclosed: { 13: "x".repeat(65_537) } },
      { ...publicProof, disclosed: many },
    ]) {
      expect(await failedCheck(value)).toBe("shape");
    }
  });
});

describe("what a presentation gives away", () => {
  it("holds no hidden value, salt or signature, as text or as bytes", async () => {
    for (const zkProof of [publicProof, presentation]) {
      const parts = [JSON.stringify(zkProof), zkProof.proof, zkProof.presentation_header, zkProof.header];
      const raw = parts.slice(1).map((part) => hexEncode(base64UrlDecode(part)));
      const everything = `${parts.join("\n")}\n${raw.join("\n")}`;
      const signature = base64UrlDecode(credential.signature);
      const hidden = credential.messages.filter(
        (_, index) => index > 0 && zkProof.disclosed[index] === undefined,
      );
      expect(hidden.length).toBeGreaterThan(10);
      const values = hidden.map((text) => JSON.parse(text)[1]).filter((value) => typeof value === "string");
      for (const secret of [...hidden, ...values, "hidden-", credential.signature]) {
        expect(everything).not.toContain(secret);
        expect(everything).not.toContain(hexEncode(utf8Encode(secret)));
      }
      expect(everything).not.toContain(hexEncode(signature.subarray(0, 48)));
      expect(everything).not.toContain(hexEncode(signature.subarray(48)));
    }
  });

  // Two presentations of one credential look like two of different credentials: same lengths, and no run
  // of bytes in common beyond what is disclosed or constant. Four equal bytes by chance: one in 1e4.
  it("does not link two presentations of one credential", async () => {
    const names = ["human_approved", "issued_month"] as const;
    const second = await derivePresentation(credential, names, AUDIENCE);
    const { proof: a, ...constantsA } = presentation;
    const { proof: b, ...constantsB } = second;
    expect(constantsA).toEqual(constantsB);
    const [first, other] = [base64UrlDecode(a), base64UrlDecode(b)];
    expect(first).toHaveLength(other.length);
    expect(longestCommonRun(first, first)).toBe(first.length);
    expect(longestCommonRun(first, other)).toBeLessThan(5);
    expect(await failedCheck(second)).toBeUndefined();
    const elsewhere = testPayload(keyPair.publicKey, { salt: "b3RoZXI=", attestation_id: "another" });
    const stranger = await derivePresentation(
      await signMessages(keyPair, disclosureMessages(elsewhere)),
      names,
      AUDIENCE,
    );
    const { proof: c, ...constantsC } = stranger;
    expect(constantsC).toEqual(constantsA);
    expect(base64UrlDecode(c)).toHaveLength(first.length);
  });
});

/** The length of the longest run of bytes that is in both. */
function longestCommonRun(a: Uint8Array, b: Uint8Array): number {
  let longest = 0;
  for (let i = 0; i < a.length; i++) {
    for (let j = 0; j < b.length; j++) {
      if (i + longest >= a.length || j + longest >= b.length) continue;
      if (!bytesEqual(a.subarray(i, i + longest + 1), b.subarray(j, j + longest + 1))) continue;
      do longest++;
      while (i + longest < a.length && j + longest < b.length && a[i + longest] === b[j + longest]);
    }
  }
  return longest;
}
