/** SCITT statements in bytes; go-cose verifies those of the service in components/guides/own-tools.process.test.ts. */
import { ed25519 } from "@noble/curves/ed25519.js";
import { encode, rfc8949EncodeOptions } from "cborg";
import { describe, expect, it } from "vitest";
import { concatBytes, hexDecode, hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { encodeScitt } from "./scitt";

const encodeCbor = (value: unknown) => encode(value, rfc8949EncodeOptions);

describe("a SCITT statement", () => {
  const signerOf = (fill: number) => {
    const secretKey = new Uint8Array(32).fill(fill);
    return { keyId: `key ${fill}`, sign: (message: Uint8Array) => ed25519.sign(message, secretKey) };
  };
  const root = new Uint8Array(32).fill(3);
  const payload = utf8Encode("{}");
  const made = encodeScitt({
    ...{ payload, attestationId: "id", issuer: "https://countersign.example", signer: signerOf(1) },
    log: {
      ...{ origin: "countersign.example/log", signer: signerOf(2), index: 1, treeSize: 2, root },
      ...{ inclusionProof: [new Uint8Array(32).fill(4)], entry: utf8Encode("leaf") },
    },
  });
  /** True if the signature at the end of a COSE_Sign1 is one over its protected header and this payload. */
  const isSigned = (object: Uint8Array, content: Uint8Array, fill: number) => {
    expect(hexEncode(object.slice(0, 3))).toBe("d28458");
    const header = object.slice(4, 4 + Number(object[3]));
    const message = encodeCbor(["Signature1", header, new Uint8Array(), content]);
    const key = ed25519.getPublicKey(new Uint8Array(32).fill(fill));
    return ed25519.verify(object.slice(-64), message, key);
  };
  const find = (bytes: Uint8Array) => Buffer.from(made).indexOf(bytes);

  it("has the same bytes as what this project's own encoder wrote", () => {
    expect(hexEncode(sha256(made))).toBe("b4238e7556495216d01ad587259b2cf83f014a2e6847f82acf5585b1d7d240f3");
  });

  it("signs its payload by the service's key, and the tree's root, which isn't in it, by the log's", () => {
    expect(isSigned(made, payload, 1)).toBe(true);
    expect(isSigned(made, utf8Encode("{ }"), 1)).toBe(false);
    // A byte string of less than 256 bytes behind the label of receipts and the head of their list.
    const start = find(hexDecode("19018a8158")) + 6;
    const receipt = made.slice(start, start + Number(made[start - 1]));
    expect(isSigned(receipt, root, 2)).toBe(true);
    expect(isSigned(receipt, payload, 2)).toBe(false);
    expect(find(root)).toBe(-1);
  });

  it("has the proof and the leaf that lead to the root", () => {
    const proof = encodeCbor([2, 1, [new Uint8Array(32).fill(4)]]);
    const vdp = concatBytes(encodeCbor(396), hexDecode("a12081"), encodeCbor(proof));
    expect(find(vdp)).toBeGreaterThan(0);
    expect(
      find(concatBytes(encodeCbor("countersign.entry"), encodeCbor(utf8Encode("leaf")))),
    ).toBeGreaterThan(0);
  });
});
