import { createHash } from "node:crypto";
import { hashSignal } from "@worldcoin/idkit/hashing";
import { describe, expect, it } from "vitest";
import {
  assembleAuthorization,
  authorizationSigningBytes,
  bindRequest,
  contextHash,
  isShownContent,
} from "./approval";
import { utf8Decode } from "./bytes";
import { canonicalJson } from "./canonical-json";
import { makeTestAuthorization, testRequest } from "./human-authorization-testing";

const sha256Hex = (text: string) => createHash("sha256").update(text).digest("hex");

describe("contextHash", () => {
  const names = { agent_name: "Treasurer", organization_name: null };

  it("is the SHA-256 of the canonical salt, context and names, in version 1 without the names", () => {
    expect(contextHash("s", { b: "2", a: "1" }, null)).toBe(sha256Hex('["s",{"a":"1","b":"2"}]'));
    expect(contextHash("s", { b: "2", a: "1" }, { ...names, ...{ more: 1 } })).toBe(
      sha256Hex('["s",{"a":"1","b":"2"},{"agent_name":"Treasurer","organization_name":null}]'),
    );
    expect(contextHash("s", {}, names)).not.toBe(contextHash("t", {}, names));
  });

  it("tells the content that a page showed from any other, names included", () => {
    const shown = { context: { a: "1" }, context_salt: "s", ...names };
    const made = (version: 1 | 2) => ({
      version,
      request: { ...testRequest, context_hash: contextHash("s", { a: "1" }, version === 1 ? null : names) },
    });
    expect(isShownContent(made(2), shown)).toBe(true);
    expect(isShownContent(made(1), shown)).toBe(true);
    const others = [
      { context: { a: "2" } },
      { context_salt: "t" },
      { agent_name: "Other" },
      { agent_name: null },
      { organization_name: "Other" },
    ];
    for (const other of others) {
      expect([other, isShownContent(made(2), { ...shown, ...other })]).toEqual([other, false]);
      const isHidden = "context" in other || "context_salt" in other;
      expect(isShownContent(made(1), { ...shown, ...other })).toBe(!isHidden);
    }
    expect(isShownContent({ ...made(1), version: 2 }, shown)).toBe(false);
    expect(isShownContent({ ...made(2), version: 1 }, shown)).toBe(false);
  });
});

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
    const logged = assembleAuthorization(authorization, "other", { index: 1 });
    expect(logged.log).toEqual({ index: 1 });
    expect(authorizationSigningBytes(logged)).toEqual(authorizationSigningBytes(authorization));
    const signed = JSON.parse(utf8Decode(authorizationSigningBytes(logged)));
    const { signature: _signature, ...rest } = authorization;
    expect(signed).toEqual(rest);
  });
});
