import { sign } from "@digitalbazaar/bbs-signatures";
import { beforeAll, describe, expect, it } from "vitest";
import { hexEncode, sha256, utf8Decode, utf8Encode } from "#lib/protocol/encoding/bytes";
import { testKeyPair, testPayload } from "#support/disclosure";
import {
  BBS_CIPHERSUITE,
  DISCLOSURE_HEADER,
  disclosureMessages,
  MESSAGE_COUNT,
  MESSAGE_NAMES,
  PUBLIC_MESSAGE_NAMES,
  parseMessage,
  type ZkKeyPair,
  zkKeyId,
  zkKeyPairFromSeed,
} from "./disclosure";
import { decodePresentationHeader, encodePresentationHeader } from "./presentation";

let keyPair: ZkKeyPair;
beforeAll(async () => {
  keyPair = await testKeyPair();
});

describe("BBS keys", () => {
  it("are the same for the same seed and differ for another", async () => {
    const again = await testKeyPair();
    const other = await testKeyPair(8);
    expect(hexEncode(again.secretKey)).toBe(hexEncode(keyPair.secretKey));
    expect(hexEncode(again.publicKey)).toBe(hexEncode(keyPair.publicKey));
    expect(zkKeyId(other.publicKey)).not.toBe(zkKeyId(keyPair.publicKey));
  });

  // A new release of the library that made other keys of the same seed would orphan every stored key.
  it("and signatures stay what they were when this was written", async () => {
    const signature = await sign({
      ...keyPair,
      header: DISCLOSURE_HEADER,
      messages: disclosureMessages(testPayload(keyPair.publicKey)).map(utf8Encode),
      ciphersuite: BBS_CIPHERSUITE,
    });
    expect(hexEncode(keyPair.secretKey)).toBe(
      "3e3a0b0ad092c66062769a8b06c081faf087bb2865e935799b541f30dc5494a5",
    );
    expect(zkKeyId(keyPair.publicKey)).toBe("0MIxLxFYOKY-FJGu3PAAqYyBA8TSvrPJax220XglYvE");
    expect(hexEncode(sha256(signature))).toBe(
      "c458b2854cfe46f16a92cdaa4dc4b578e96fec2faeed7bbc1c682dd0be13d630",
    );
  });

  it("come of exactly 32 bytes", async () => {
    await expect(zkKeyPairFromSeed(new Uint8Array(31))).rejects.toThrow(RangeError);
    await expect(zkKeyPairFromSeed(new Uint8Array(33))).rejects.toThrow(RangeError);
  });
});

describe("the messages", () => {
  it("are these 24 texts", () => {
    const payload = testPayload(keyPair.publicKey);
    expect(disclosureMessages(payload)).toEqual([
      '["schema","https://countersign.dev/disclosure/v1"]',
      '["attestation_id","0198a1b2-0000-7000-8000-000000000001"]',
      `["payload_hash","${hexEncode(sha256(payload))}"]`,
      '["issued_at","2026-11-21T03:04:05.678Z"]',
      '["issued_date","2026-11-21"]',
      '["issued_month","2026-11"]',
      '["agent_slug","payments-agent"]',
      '["agent_public_key","hidden-agent-key"]',
      '["organization","org_hidden_organization"]',
      '["action","wire hidden-action-7781 to Zürich"]',
      '["inputs_hash","hidden-inputs-hash"]',
      '["code_hash","hidden-code-hash"]',
      '["model_id",null]',
      '["metadata",{"amount":12.5,"invoice":"hidden-metadata"}]',
      '["tools_used",["hidden-tool-b","hidden-tool-a"]]',
      '["agent_authenticated",true]',
      '["code_hash_verified",false]',
      '["tools_authorized",null]',
      '["human_approved",true]',
      '["human_approval_method","proof_of_personhood"]',
      '["human_approval_level","hidden-level"]',
      '["is_public",false]',
      '["human_approval_environment","production"]',
      '["blinding","c2FsdC1vZi10aGUtdGVzdA=="]',
    ]);
  });

  it("say null for what is absent, and tell the three grades of approval apart", () => {
    const request = { agent_slug: "a", action: "b", inputs_hash: "c" };
    const read = (payload: Uint8Array) =>
      Object.fromEntries(disclosureMessages(payload).map((text) => JSON.parse(text) as [string, unknown]));
    const none = read(testPayload(keyPair.publicKey, { request, human_approval: { method: "none" } }));
    expect(none).toMatchObject({ code_hash: null, model_id: null, metadata: null, tools_used: null });
    expect(none).toMatchObject({ human_approved: false, human_approval_method: "none" });
    expect(none).toMatchObject({ human_approval_level: null, human_approval_environment: null });
    const hash = { method: "hash" as const, approver_hash: "x" };
    const asserted = read(testPayload(keyPair.publicKey, { human_approval: hash }));
    expect(asserted).toMatchObject({ human_approved: true, human_approval_method: "hash" });
    expect(asserted).toMatchObject({ human_approval_level: null, human_approval_environment: null });
  });

  // Without this, the verdicts of a tampered row could lend their names to other messages.
  it("take no value from a field of another name", () => {
    const verdicts = { agent_authenticated: null, code_hash_verified: null, tools_authorized: null };
    const forged = { ...verdicts, metadata: "forged", human_approved: "forged" };
    const texts = disclosureMessages(testPayload(keyPair.publicKey, { verdicts: forged }));
    expect(texts.join()).not.toContain("forged");
  });

  it("are made of canonical payloads only", () => {
    const text = utf8Decode(testPayload(keyPair.publicKey));
    expect(() => disclosureMessages(utf8Encode(` ${text}`))).toThrow(TypeError);
    expect(() => disclosureMessages(utf8Encode("{}"))).toThrow(TypeError);
    expect(() => disclosureMessages(new Uint8Array([0xff]))).toThrow(TypeError);
  });

  it("are read back in their one spelling and at their own index only", () => {
    expect(parseMessage(18, '["human_approved",true]')).toBe(true);
    expect(parseMessage(12, '["model_id",null]')).toBeNull();
    for (const text of [
      '["human_approved", true]',
      '["human_approved",true,1]',
      '["human_approved"]',
      '{"0":"human_approved","1":true}',
      '["human_approv\\u0065d",true]',
      "",
      "[".repeat(60_000),
    ]) {
      expect(parseMessage(18, text)).toBeUndefined();
    }
    expect(parseMessage(17, '["human_approved",true]')).toBeUndefined();
    expect(parseMessage(24, '["undefined",true]')).toBeUndefined();
    expect(parseMessage(13, '["metadata",{"b":1,"a":2}]')).toBeUndefined();
    expect(parseMessage(13, '["metadata",{"a":1,"a":1}]')).toBeUndefined();
    expect(parseMessage(13, '["metadata",1.0]')).toBeUndefined();
  });
});

describe("the header", () => {
  it("is the same for every attestation", () => {
    expect(utf8Decode(DISCLOSURE_HEADER)).toBe(
      '{"iss":"https://countersign.dev","l":24,"schema":"https://countersign.dev/disclosure/v1"}',
    );
    expect(MESSAGE_COUNT).toBe(24);
    expect(new Set(MESSAGE_NAMES).size).toBe(24);
    expect(PUBLIC_MESSAGE_NAMES).not.toContain("blinding");
    expect(PUBLIC_MESSAGE_NAMES).not.toContain("payload_hash");
  });
});

describe("the presentation header", () => {
  const header = { kind: "audience", audience: "https://bank.example", nonce: "n-1" } as const;
  const times = { issuedAtSeconds: 100, expiresAtSeconds: 200 };

  it("is one of two canonical forms", () => {
    const bytes = encodePresentationHeader({ ...header, ...times });
    expect(utf8Decode(bytes)).toBe('{"aud":"https://bank.example","exp":200,"iat":100,"nonce":"n-1"}');
    expect(decodePresentationHeader(bytes)).toEqual({ ...header, ...times });
    const open = encodePresentationHeader({ kind: "public", attestationId: "id" });
    expect(utf8Decode(open)).toBe('{"attestation_id":"id","aud":"public"}');
    expect(decodePresentationHeader(open)).toEqual({ kind: "public", attestationId: "id" });
  });

  it("is never for the audience public, empty, endless or backwards", () => {
    for (const wrong of [
      { audience: "public" },
      { audience: "" },
      { audience: "x".repeat(513) },
      { nonce: "" },
      { nonce: "x".repeat(257) },
      { expiresAtSeconds: 100 },
      { issuedAtSeconds: -1 },
      { expiresAtSeconds: 200.5 },
    ]) {
      expect(() => encodePresentationHeader({ ...header, ...times, ...wrong })).toThrow(RangeError);
    }
    expect(() => encodePresentationHeader({ kind: "public", attestationId: "" })).toThrow(RangeError);
  });

  it("has no second spelling and no further field", () => {
    for (const text of [
      '{"aud":"public", "attestation_id":"id"}',
      '{"aud":"public"}',
      '{"attestation_id":"id","aud":"public","exp":1}',
      '{"attestation_id":1,"aud":"public"}',
      '{"aud":"a","exp":"200","iat":100,"nonce":"n"}',
      "[]",
      "null",
      "",
    ]) {
      expect(decodePresentationHeader(utf8Encode(text))).toBeNull();
    }
    expect(decodePresentationHeader(new Uint8Array([0xff]))).toBeNull();
  });
});
