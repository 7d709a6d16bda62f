import { beforeAll, describe, expect, it } from "vitest";
import { createLocalSigner } from "#lib/log/signing/signing-keys";
import {
  addNoteSignatures,
  cosignCheckpoint,
  makeVerifierKey,
  parseNote,
  signCheckpoint,
} from "#lib/protocol/tlog/checkpoint";
import { verifyBeacon } from "#lib/verifier/checks/verify-beacon";
import { earliest, hashNote, quicknet, readCosigners, roundTimeMs, toBound } from "./not-before";
import { isNotBefore } from "./not-before-shape";

const signerOf = (n: number) => createLocalSigner(Buffer.alloc(32, n).toString("base64"), "test");
const logKey = makeVerifierKey("example.com/log", 1, signerOf(1).publicKey);
const witnesses = [2, 3].map((n) => makeVerifierKey(`w.example/${n}`, 4, signerOf(n).publicKey));
const [first, second] = witnesses as [(typeof witnesses)[0], (typeof witnesses)[0]];

/** Published by drand: api.drand.sh/<chain>/public/123. */
const round123 = {
  type: "drand" as const,
  chain: quicknet.chain,
  round: 123,
  signature:
    "b75c69d0b72a5d906e854e808ba7e2accb1542ac355ae486d591aa9d43765482e26cd02df835d3546d23c4b13e0dfc92",
};

describe("a cosigned checkpoint as a bound", () => {
  let signed: string;
  let cosigned: string;
  const cosign = async (n: number, key: typeof first, timeSeconds: number) =>
    cosignCheckpoint(parseNote(signed).text, key, timeSeconds, (bytes) => signerOf(n).sign(bytes));

  beforeAll(async () => {
    const checkpoint = { origin: "example.com/log", size: 7, root: new Uint8Array(32) };
    signed = await signCheckpoint(checkpoint, logKey, (bytes) => signerOf(1).sign(bytes));
    cosigned = addNoteSignatures(signed, [await cosign(2, first, 1000), await cosign(3, second, 1010)]);
  });

  it("is named by the hash of all its bytes, so that no cosignature can be left out", () => {
    expect(toBound(cosigned)).toMatchObject({ type: "tlog-cosignature", origin: "example.com/log", size: 7 });
    expect(toBound(cosigned).checkpoint_hash).toBe(hashNote(cosigned));
    expect(hashNote(cosigned)).not.toBe(hashNote(signed));
  });

  it("holds from the earliest of its witnesses' times", () => {
    const witnessed = readCosigners(cosigned, witnesses) ?? [];
    expect(witnessed.map(({ name }) => name)).toEqual(["w.example/2", "w.example/3"]);
    expect(earliest(witnessed)).toBe(1_000_000);
    expect(readCosigners(cosigned, [second])).toEqual([{ name: "w.example/3", timeMs: 1_010_000 }]);
    expect(readCosigners(signed, witnesses)).toEqual([]);
  });

  it("is worth nothing with a line of a witness that does not verify", async () => {
    const { signature, ...line } = await cosign(2, first, 2000);
    const false_ = addNoteSignatures(signed, [{ ...line, signature: signature.fill(1, 20) }]);
    expect(readCosigners(false_, witnesses)).toBeUndefined();
    expect(readCosigners("no note", witnesses)).toBeUndefined();
  });
});

describe("a round of quicknet", () => {
  it("verifies as drand published it, and in no other way", () => {
    expect(verifyBeacon(round123)).toBe(true);
    expect(verifyBeacon({ ...round123, round: 124 })).toBe(false);
    expect(verifyBeacon({ ...round123, signature: round123.signature.replace("b75c", "b75d") })).toBe(false);
    expect(verifyBeacon({ ...round123, signature: "ff".repeat(48) })).toBe(false);
    expect(verifyBeacon({ ...round123, chain: "00".repeat(32) })).toBe(false);
  });

  it("was due three seconds after the one before", () => {
    expect(new Date(roundTimeMs(1)).toISOString()).toBe("2023-08-23T15:09:27.000Z");
    expect(roundTimeMs(124) - roundTimeMs(123)).toBe(3000);
  });
});

describe("the field not_before", () => {
  const cosignedBound = { type: "tlog-cosignature", origin: "o", size: 1, checkpoint_hash: "0".repeat(64) };
  it.each([
    [cosignedBound, true],
    [round123, true],
    [{ ...cosignedBound, size: 1.5 }, false],
    [{ ...cosignedBound, checkpoint_hash: "0" }, false],
    [{ ...cosignedBound, checkpoint_hash: "A".repeat(64) }, false],
    [{ ...round123, round: "123" }, false],
    [{ ...round123, signature: "" }, false],
    [{ ...round123, type: "roughtime" }, false],
    [null, false],
  ])("%j: %s", (value, expected) => {
    expect(isNotBefore(value)).toBe(expected);
  });
});
