import { createHash } from "node:crypto";
import { hashSignal } from "@worldcoin/idkit/hashing";
import { describe, expect, it } from "vitest";
import { utf8Decode } from "#lib/protocol/encoding/bytes";
import { canonicalJson } from "#lib/protocol/encoding/canonical-json";
import { makeTestAuthorization, testRequest } from "#support/human-authorization";
import { assembleAuthorization, authorizationSigningBytes, bindRequest } from "./approval";

const sha256Hex = (text: string) => createHash("sha256").update(text).digest("hex");

describe("bindRequest", () => {
  const binding = bindRequest(testRequest);

  it("derives all four from the canonical request", () => {
    const hash = sha256Hex(canonicalJson({ ...testRequest }));
    expect(binding.request_hash).toBe(hash);
    expect(binding.signal).toBe(`0x${hash}`);
    expect(binding.signal_hash).toBe(hashSignal(`0x${hash}`));
    expect(binding.world_action).toMatch(/^authz-[a-z2-7]{26}$/);
    // 26 base32 characters are the first 130 bits
    const alphabet = "abcdefghijklmnopqrstuvwxyz234567";
    const bits = [...binding.world_action.slice(6)].map((char) =>
      alphabet.indexOf(char).toString(2).padStart(5, "0"),
    );
    const hashBits = BigInt(`0x${hash}`).toString(2).padStart(256, "0");
    expect(bits.join("")).toBe(hashBits.slice(0, 130));
  });

  it("changes entirely with any field of the request", () => {
    for (const field of Object.keys(testRequest)) {
      const { [field as "salt"]: _dropped, ...rest } = testRequest;
      const without = bindRequest(rest as typeof testRequest);
      for (const part of ["request_hash", "world_action", "signal", "signal_hash"] as const) {
        expect(without[part]).not.toBe(binding[part]);
      }
    }
  });
});

describe("authorizationSigningBytes", () => {
  it("covers everything but the signature and the log", () => {
    const authorization = makeTestAuthorization();
    const logged = { ...assembleAuthorization(authorization, "other"), log: { index: 1 } };
    expect(authorizationSigningBytes(logged)).toEqual(authorizationSigningBytes(authorization));
    const signed = JSON.parse(utf8Decode(authorizationSigningBytes(logged)));
    const { signature: _signature, ...rest } = authorization;
    expect(signed).toEqual(rest);
  });
});
