import { createHash } from "node:crypto";
import { hashSignal } from "@worldcoin/idkit/hashing";
import { describe, expect, it } from "vitest";
import { utf8Decode } from "#lib/core/encoding/bytes";
import { canonicalJson } from "#lib/core/encoding/canonical-json";
import { alterations } from "#support/alterations";
import { makeTestAuthorization, testRequest, testRequestedBy, testShown } from "#support/human-authorization";
import {
  type AuthorizationVersion,
  assembleAuthorization,
  authorizationSigningBytes,
  bindRequest,
  contextHash,
  isShownContent,
} from "./approval";

const sha256Hex = (text: string) => createHash("sha256").update(text).digest("hex");

describe("contextHash", () => {
  const names = { agent_name: "Treasurer", organization_name: null };
  const requested_by = testShown.requested_by;

  it("is the SHA-256 of the canonical salt, context, names and who asks; of less in earlier versions", () => {
    const context = { b: "2", a: "1" };
    expect(contextHash("s", context, null, null)).toBe(sha256Hex('["s",{"a":"1","b":"2"}]'));
    expect(contextHash("s", context, { ...names, ...{ more: 1 } }, null)).toBe(
      sha256Hex('["s",{"a":"1","b":"2"},{"agent_name":"Treasurer","organization_name":null}]'),
    );
    expect(contextHash("s", context, names, testRequestedBy)).toBe(
      sha256Hex(
        `["s",{"a":"1","b":"2"},{"agent_name":"Treasurer","organization_name":null},${canonicalJson(requested_by)}]`,
      ),
    );
    expect(contextHash("s", {}, names, null)).not.toBe(contextHash("t", {}, names, null));
  });

  const shown = { context: { a: "1" }, context_salt: "s", ...names, requested_by: null };
  const whole = { ...shown, requested_by };
  const hashes = {
    1: contextHash("s", { a: "1" }, null, null),
    2: contextHash("s", { a: "1" }, names, null),
    3: contextHash("s", { a: "1" }, names, testRequestedBy),
  };
  const made = (version: AuthorizationVersion, of = version) => ({
    version,
    request: { ...testRequest, context_hash: hashes[of] },
  });

  it("tells the content that a page showed from any other, names included", () => {
    expect(isShownContent(made(3), whole)).toBe(true);
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
      expect([other, isShownContent(made(3), { ...whole, ...other })]).toEqual([other, false]);
      expect([other, isShownContent(made(2), { ...shown, ...other })]).toEqual([other, false]);
      const isHidden = "context" in other || "context_salt" in other;
      expect(isShownContent(made(1), { ...shown, ...other })).toBe(!isHidden);
    }
  });

  it("takes no version for another, and shows nobody whom a version does not cover", () => {
    for (const version of [1, 2, 3] as const)
      for (const other of ([1, 2, 3] as const).filter((one) => one !== version))
        for (const content of [shown, whole])
          expect([version, other, isShownContent(made(version, other), content)]).toEqual([
            version,
            other,
            false,
          ]);
    for (const version of [1, 2] as const) expect(isShownContent(made(version), whole)).toBe(false);
    expect(isShownContent(made(3), shown)).toBe(false);
  });

  it.each(alterations(requested_by))("changes with who asks: %s", (_what, other) => {
    expect(isShownContent(made(3), { ...whole, requested_by: other })).toBe(false);
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
