/** libsodium behind our own signatures: RFC 8032's, and nothing of a wrong shape is asked of it. */
import { describe, expect, it } from "vitest";
import type { Load } from "#lib/jobs/fair-queue";
import { openSigningThread } from "#lib/log/sequencer/entry";
import { hexDecode, hexEncode, joinBytes, splitBytes } from "#lib/protocol/encoding/bytes";
import { verifyEd25519Strict } from "#lib/protocol/keys/ed25519";
import { signStatement } from "#lib/protocol/tlog/log-leaf";
import { openKeyPair, verifySignature } from "./libsodium";
import { signStatements } from "./log-worker";
import { createLocalSigner } from "./signing-keys";

/** RFC 8032, section 7.1, TEST 2. */
const rfc = {
  seed: "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
  publicKey: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
  message: "72",
  signature:
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
};

describe("many statements signed in a thread", () => {
  const signer = createLocalSigner(Buffer.from(rfc.seed, "hex").toString("base64"), "key");
  const payloads = Array.from({ length: 40 }, (_, i) => new Uint8Array(i).fill(i));

  it("are those that their signer makes one by one, and the seed is overwritten there", async () => {
    const lent: Uint8Array[] = [];
    const signed = await signer.lendSeed(80, async (seed) => {
      lent.push(seed);
      expect(hexEncode(seed)).toBe(rfc.seed);
      const made = signStatements({ seed, ...joinBytes(payloads) });
      expect(seed).toEqual(new Uint8Array(32));
      return splitBytes(made);
    });
    const alone = payloads.map((payload) => signStatement(signer, payload));
    expect(signed).toEqual(
      alone.flatMap(({ signature, envelopeSignature, leaf }) => [signature, envelopeSignature, leaf]),
    );
    expect(lent[0]?.buffer).toBeInstanceOf(SharedArrayBuffer);
  });

  it("don't wait for its start: the batch that finds no thread starts one for the next", async () => {
    const jobs: string[] = [];
    const state = { threads: 0, running: 0 };
    const pool = {
      run: async (name: string) => {
        jobs.push(name);
        return null as never;
      },
      load: () => ({ running: state.running }) as Load,
      threadCount: () => state.threads,
    };
    const open = (processors: number) => openSigningThread(pool, { lane: "other", owners: [] }, processors);
    expect([open(1).isReady(), jobs]).toEqual([false, []]);
    const thread = open(2);
    expect([thread.isReady(), jobs]).toEqual([false, ["verifySignatures"]]);
    Object.assign(state, { threads: 1, running: 1 });
    expect(thread.isReady()).toBe(false);
    state.running = 0;
    expect(thread.isReady()).toBe(true);
    expect(jobs).toHaveLength(1);
  });

  it("leave no seed behind if the thread ends before it has taken it", async () => {
    let lent: Uint8Array | undefined;
    const failing = signer.lendSeed(80, async (seed) => {
      lent = seed;
      throw new Error("ended");
    });
    await expect(failing).rejects.toThrow("ended");
    expect(lent).toEqual(new Uint8Array(32));
  });
});

describe("a key pair", () => {
  it("has the public key and the signatures of RFC 8032, each in memory of its own", () => {
    const { publicKey, sign } = openKeyPair(Buffer.from(rfc.seed, "hex"));
    expect(hexEncode(publicKey)).toBe(rfc.publicKey);
    const signature = sign(hexDecode(rfc.message));
    expect(hexEncode(signature)).toBe(rfc.signature);
    expect([publicKey.buffer.byteLength, signature.buffer.byteLength]).toEqual([32, 64]);
    expect(Buffer.isBuffer(signature)).toBe(false);
  });

  it("leaves nothing of its seed where that was given", () => {
    const seed = Buffer.from(rfc.seed, "hex");
    openKeyPair(seed);
    expect(seed).toEqual(Buffer.alloc(32));
  });

  it("signs bytes that lie inside of others", () => {
    const { publicKey, sign } = openKeyPair(Buffer.from(rfc.seed, "hex"));
    const message = new Uint8Array([1, 2, 3, 4, 5]).subarray(1, 4);
    const signature = sign(message);
    expect(verifyEd25519Strict(signature, new Uint8Array([2, 3, 4]), publicKey)).toBe(true);
    expect(verifySignature(signature, message, publicKey)).toBe(true);
  });
});

describe("a signature", () => {
  const [signature, message, publicKey] = [rfc.signature, rfc.message, rfc.publicKey].map(hexDecode) as [
    Uint8Array,
    Uint8Array,
    Uint8Array,
  ];
  const changed = (bytes: Uint8Array, at: number) => bytes.map((byte, i) => (i === at ? byte ^ 1 : byte));

  it("holds for its message and key, and for nothing one bit away", () => {
    expect(verifySignature(signature, message, publicKey)).toBe(true);
    for (let i = 0; i < 64; i += 1)
      expect(verifySignature(changed(signature, i), message, publicKey)).toBe(false);
    for (let i = 0; i < 32; i += 1)
      expect(verifySignature(signature, message, changed(publicKey, i))).toBe(false);
    expect(verifySignature(signature, changed(message, 0), publicKey)).toBe(false);
    expect(verifySignature(signature, new Uint8Array(), publicKey)).toBe(false);
  });

  it.each([0, 31, 33, 63, 65])("doesn't hold, and nothing is thrown, if something has %i bytes", (length) => {
    const bytes = new Uint8Array(length);
    expect(verifySignature(bytes, message, publicKey)).toBe(false);
    expect(verifySignature(signature, message, bytes)).toBe(false);
  });
});
