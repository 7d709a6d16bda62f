/** Guarantee: a public key that anybody can sign for, or that has two spellings, is never registered. */
import { generateKeyPairSync } from "node:crypto";
import { ed25519 } from "@noble/curves/ed25519.js";
import { describe, expect, it } from "vitest";
import { base64Encode, hexDecode } from "#lib/protocol/encoding/bytes";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { setupTestApp } from "#support/setup-app";

/** The eight points of small order (as in Wycheproof and CCTV), and encodings that are not canonical. */
const unfitKeys: [string, string][] = [
  ["0100000000000000000000000000000000000000000000000000000000000000", "the identity"],
  ["0100000000000000000000000000000000000000000000000000000000000080", "the identity, x negative"],
  ["ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", "order 2"],
  ["0000000000000000000000000000000000000000000000000000000000000000", "order 4"],
  ["0000000000000000000000000000000000000000000000000000000000000080", "order 4, other sign"],
  ["26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05", "order 8"],
  ["26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85", "order 8, other sign"],
  ["c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a", "order 8, the other"],
  ["c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa", "order 8, the other, other sign"],
  ["eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", "y = p + 1"],
  ["edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", "y = p"],
  ["ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff", "y beyond p"],
  ["0200000000000000000000000000000000000000000000000000000000000000", "no point"],
];

/** A key of mixed order: a good point plus one of order 8. */
function mixedOrder(raw: string): string {
  const small = ed25519.Point.fromBytes(
    hexDecode("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
  );
  const good = ed25519.Point.fromBytes(new Uint8Array(Buffer.from(raw, "base64")));
  return base64Encode(good.add(small).toBytes());
}

function newKey() {
  const { publicKey } = generateKeyPairSync("ed25519");
  const raw = publicKey.export({ format: "der", type: "spki" }).subarray(-32);
  return {
    pem: publicKey.export({ format: "pem", type: "spki" }).toString(),
    raw: raw.toString("base64"),
  };
}

describe("unfit keys", () => {
  const { test, key } = setupTestApp();
  const register = (body: JsonObject) => test.call("POST", "/v1/identity/register", { key, body });

  it("refuses keys of small and mixed order, non-canonical ones and other kinds, and stores nothing", async () => {
    for (const [hex, name] of unfitKeys) {
      const { status, body } = await register({
        slug: "unfit",
        public_key: Buffer.from(hex, "hex").toString("base64"),
      });
      expect([name, status, body.errors?.[0].pointer]).toEqual([name, 422, "/public_key"]);
    }
    const rsa = generateKeyPairSync("rsa", { modulusLength: 1024 })
      .publicKey.export({ format: "pem", type: "spki" })
      .toString();
    const others: [JsonObject, string][] = [
      [{ public_key: mixedOrder(newKey().raw) }, "/public_key"],
      [{ public_key: "AAAA" }, "/public_key"],
      [{ public_key: "not base64" }, "/public_key"],
      [{ public_key_pem: rsa }, "/public_key_pem"],
      [{ public_key_pem: "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----" }, "/public_key_pem"],
      [{ public_key_pem: newKey().pem, public_key: newKey().raw }, "/public_key"],
    ];
    for (const [body, pointer] of others) {
      const answer = await register({ slug: "unfit", ...body });
      expect([pointer, answer.status, answer.body.errors?.[0].pointer]).toEqual([pointer, 422, pointer]);
    }
    expect((await test.call("GET", "/v1/identity/unfit")).status).toBe(404);
  });
});
