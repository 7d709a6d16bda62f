/** The BBS package keeps its generators (.ci/patches), and they stay the draft's. */
import path from "node:path";
import { deriveProof, generateKeyPair, sign, verifyProof } from "@digitalbazaar/bbs-signatures";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { hexEncode, utf8Encode } from "#lib/protocol/encoding/bytes";
import { BBS_CIPHERSUITE, type ZkKeyPair } from "./disclosure";

interface Ciphersuite {
  hash_to_curve_g1(message: Uint8Array, dst: Uint8Array): object;
  point_to_octets_E1(point: object): Uint8Array;
}
interface Internals {
  create_generators(of: { count: number; api_id: Uint8Array; ciphersuite: Ciphersuite }): object[];
}

const load = (file: string) =>
  import(path.resolve("node_modules/@digitalbazaar/bbs-signatures/lib/bbs", file));

let sha256: Ciphersuite;
let create: Internals["create_generators"];
let keyPair: ZkKeyPair;
beforeAll(async () => {
  ({ create_generators: create } = await load("util.js"));
  ({
    CIPHERSUITES: { BLS12381_SHA256: sha256 },
  } = await load("ciphersuites.js"));
  keyPair = await generateKeyPair({ seed: new Uint8Array(32).fill(7), ciphersuite: BBS_CIPHERSUITE });
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** An API that no other test uses: nothing of it is kept yet. */
const newApi = () => utf8Encode(crypto.randomUUID());
const watch = () => vi.spyOn(sha256, "hash_to_curve_g1");

/** Signs that many messages, and shows the first. Answers the signature. */
async function signAndShow(count: number): Promise<string> {
  const messages = Array.from({ length: count }, (_, i) => utf8Encode(`message ${i}`));
  const common = { publicKey: keyPair.publicKey, header: utf8Encode("header"), ciphersuite: BBS_CIPHERSUITE };
  const signature = await sign({ ...common, secretKey: keyPair.secretKey, messages });
  const shown = { ...common, presentationHeader: utf8Encode("to you"), disclosedMessageIndexes: [0] };
  const proof = await deriveProof({ ...shown, signature, messages });
  const verify = (text: string) => verifyProof({ ...shown, proof, disclosedMessages: [utf8Encode(text)] });
  expect(await verify("message 0")).toBe(true);
  expect(await verify("message 1")).toBe(false);
  return hexEncode(signature);
}

describe("the generators", () => {
  it("are those of the draft, every time", () => {
    const api_id = utf8Encode("BBS_BLS12381G1_XMD:SHA-256_SSWU_RO_H2G_HM2S_");
    for (let time = 0; time < 2; time += 1) {
      const points = create({ count: 11, api_id, ciphersuite: sha256 });
      expect(points).toHaveLength(11);
      expect(points.slice(0, 5).map((point) => hexEncode(sha256.point_to_octets_E1(point)))).toEqual([
        "a9ec65b70a7fbe40c874c9eb041c2cb0a7af36ccec1bea48fa2ba4c2eb67ef7f9ecb17ed27d38d27cdeddff44c8137be",
        "98cd5313283aaf5db1b3ba8611fe6070d19e605de4078c38df36019fbaad0bd28dd090fd24ed27f7f4d22d5ff5dea7d4",
        "a31fbe20c5c135bcaa8d9fc4e4ac665cc6db0226f35e737507e803044093f37697a9d452490a970eea6f9ad6c3dcaa3a",
        "b479263445f4d2108965a9086f9d1fdc8cde77d14a91c856769521ad3344754cc5ce90d9bc4c696dffbc9ef1d6ad1b62",
        "ac0401766d2128d4791d922557c7b4d1ae9a9b508ce266575244a8d6f32110d7b0b7557b77604869633bb49afbe20035",
      ]);
    }
  });

  it("are derived once for all signatures and proofs of as many messages", async () => {
    const derive = watch();
    const signature = await signAndShow(3);
    expect(derive).toHaveBeenCalledTimes(4);
    // Multiplications use tables by now: they find the same.
    expect(await signAndShow(3)).toBe(signature);
    expect(derive).toHaveBeenCalledTimes(4);
  });

  it("cannot be changed by who gets them", () => {
    const points = create({ count: 2, api_id: newApi(), ciphersuite: sha256 });
    expect(() => points.reverse()).toThrow(TypeError);
    expect(() => (points as object[] & { H: object[] }).H.pop()).toThrow(TypeError);
  });
});
