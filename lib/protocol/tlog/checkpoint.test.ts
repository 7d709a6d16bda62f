import { ed25519 } from "@noble/curves/ed25519.js";
import { describe, expect, it } from "vitest";
import { base64Decode, concatBytes, hexEncode, utf8Encode } from "#lib/protocol/encoding/bytes";
import { type VerifyEd25519, verifyEd25519Strict } from "#lib/protocol/keys/ed25519";
import {
  addNoteSignatures,
  cosignatureMessage,
  cosignCheckpoint,
  encodeCheckpoint,
  encodeNote,
  makeVerifierKey,
  parseCheckpoint,
  parseDecimal,
  parseNote,
  signCheckpoint,
  signNoteText,
  type VerifierKey,
  verifyCheckpoint,
  verifyCosignature,
  verifyNoteSignature,
} from "./checkpoint";
import { checkMlDsa, loadMlDsa } from "./ml-dsa";
import { encodeAddCheckpoint, parseAddCheckpoint } from "./tlog-proof";

/** The examples of c2sp.org/tlog-checkpoint, tlog-cosignature and tlog-witness. */
const SPEC_TEXT = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";
const SPEC_COSIGNED = `${SPEC_TEXT}
— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
— witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==
`;
const SPEC_ADD = `old 20852014
PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=
jrJZDmY8Y7SyJE0MWLpLozkIVMSMZcD5kvuKxPC3swk=
5+pKlUdi2LeF/BcMHBn+Ku6yhPGNCswZZD1X/6QgPd8=
/6WVhPs2CwSsb5rYBH5cjHV/wSmA79abXAwhXw3Kj/0=

${SPEC_COSIGNED}`;

const seedOf = (i: number) => new Uint8Array(32).fill(i);
const signerOf = (i: number) => (message: Uint8Array) => ed25519.sign(message, seedOf(i));
const LOG_KEY = makeVerifierKey("log.example/1", 1, ed25519.getPublicKey(seedOf(1)));
const WITNESSES = [2, 3, 4].map((i) =>
  makeVerifierKey(`witness.example/w${i}`, 4, ed25519.getPublicKey(seedOf(i))),
);
const CHECKPOINT = { origin: "log.example/1", size: 7, root: new Uint8Array(32).fill(5) };
const TEXT = encodeCheckpoint(CHECKPOINT);
const TIME_SECONDS = 1_679_315_147;

describe("checkpoint text", () => {
  it("is the specification's example", () => {
    const parsed = parseCheckpoint(SPEC_TEXT);
    const root = base64Decode("CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=");
    expect(parsed).toEqual({ origin: "example.com/behind-the-sofa", size: 20852163, root });
    expect(encodeCheckpoint(parsed)).toBe(SPEC_TEXT);
    const extended = `${SPEC_TEXT}ext one\next 2\n`;
    expect(parseCheckpoint(extended).extensions).toEqual(["ext one", "ext 2"]);
    expect(encodeCheckpoint(parseCheckpoint(extended))).toBe(extended);
  });

  it.each([
    ["nothing", ""],
    ["an empty origin", SPEC_TEXT.replace("example.com/behind-the-sofa", "")],
    ["a leading zero", SPEC_TEXT.replace("20852163", "020852163")],
    ["a sign", SPEC_TEXT.replace("20852163", "+20852163")],
    ["a fraction", SPEC_TEXT.replace("20852163", "2085.5")],
    ["a size that a double cannot hold", SPEC_TEXT.replace("20852163", "9007199254740993")],
    ["a root of 31 bytes", SPEC_TEXT.replace(/\n[^\n]+\n$/, `\n${"A".repeat(42)}==\n`)],
    ["a root in other base64", SPEC_TEXT.replace("2I=", "2J=")],
    ["no final newline", SPEC_TEXT.slice(0, -1)],
    ["an empty extension line", `${SPEC_TEXT}\n`],
    ["an empty line among extensions", `${SPEC_TEXT}a\n\nb\n`],
    ["two lines", "a\n1\n"],
  ])("is refused with %s", (_, text) => {
    expect(() => parseCheckpoint(text)).toThrow(RangeError);
  });

  it("is not made of bad parts", () => {
    for (const change of [
      { size: -1 },
      { size: 1.5 },
      { root: new Uint8Array(31) },
      { origin: "" },
      { origin: "a\nb" },
    ]) {
      expect(() => encodeCheckpoint({ ...CHECKPOINT, ...change })).toThrow(RangeError);
    }
    expect(() => encodeCheckpoint({ ...CHECKPOINT, extensions: [""] })).toThrow(RangeError);
    expect(parseDecimal("9007199254740991")).toBe(Number.MAX_SAFE_INTEGER);
  });
});

describe("signed checkpoints", () => {
  it("verify under the log's key, and under no other key or name", async () => {
    const note = await signCheckpoint(CHECKPOINT, LOG_KEY, signerOf(1));
    expect(verifyCheckpoint(note, LOG_KEY)).toMatchObject({ ok: true, checkpoint: CHECKPOINT });
    expect(verifyCheckpoint(note, makeVerifierKey("log.example/1", 1, seedOf(9))).ok).toBe(false);
    expect(verifyCheckpoint(note, makeVerifierKey("log.example/2", 1, LOG_KEY.publicKey)).ok).toBe(false);
    expect(verifyCheckpoint("garbage", LOG_KEY).ok).toBe(false);
    await expect(signCheckpoint({ ...CHECKPOINT, origin: "b" }, LOG_KEY, signerOf(1))).rejects.toThrow(
      RangeError,
    );
  });

  it("fail with any character changed, after the signature held for the note as it was", async () => {
    const note = await signCheckpoint(CHECKPOINT, LOG_KEY, signerOf(1));
    expect(verifyCheckpoint(note, LOG_KEY).ok).toBe(true);
    for (let i = 0; i < note.length; i++) {
      const changed = note.slice(0, i) + (note[i] === "A" ? "B" : "A") + note.slice(i + 1);
      expect(verifyCheckpoint(changed, LOG_KEY).ok, `character ${i}`).toBe(false);
    }
  });

  it("are verified once, however often they come", async () => {
    const note = await signCheckpoint({ ...CHECKPOINT, size: 77 }, LOG_KEY, signerOf(1));
    let verified = 0;
    const verify: VerifyEd25519 = (...given) => {
      verified += 1;
      return verifyEd25519Strict(...given);
    };
    for (let i = 0; i < 3; i += 1) expect(verifyCheckpoint(note, LOG_KEY, verify).ok).toBe(true);
    expect(verified).toBe(1);
  });

  it("don't take a shorter message for one that holds, whose beginning is the key that is asked for", async () => {
    const asked = makeVerifierKey("asked", 1, utf8Encode("k".repeat(32)));
    const others = makeVerifierKey("others", 1, new Uint8Array(32));
    const signature = new Uint8Array(64);
    const line = ({ name, keyId }: VerifierKey, bytes: Uint8Array) => ({ name, keyId, signature: bytes });
    const long = { text: `${"k".repeat(32)}forged\n`, signatures: [line(others, signature)] };
    expect(verifyNoteSignature(long, others, () => true)).toBe(true);
    const forged = {
      text: "forged\n",
      signatures: [line(asked, concatBytes(signature, others.publicKey))],
    };
    expect(verifyNoteSignature(forged, asked, () => false)).toBe(false);
    const { keygen, sign } = await loadMlDsa();
    const [own, victim] = [keygen(new Uint8Array(32)), keygen(new Uint8Array(32).fill(1))];
    const message = concatBytes(victim.publicKey, utf8Encode("forged"));
    const signed = sign(message, own.secretKey);
    expect(await checkMlDsa(signed, message, own.publicKey)).toBe(true);
    const moved = concatBytes(signed, own.publicKey);
    expect(await checkMlDsa(moved, utf8Encode("forged"), victim.publicKey)).toBe(false);
  });

  it("refuse a note that the key did sign but that is no checkpoint of its origin", async () => {
    for (const text of ["hello\n", encodeCheckpoint({ ...CHECKPOINT, origin: "log.example/2" })]) {
      const note = encodeNote({ text, signatures: [await signNoteText(text, LOG_KEY, signerOf(1))] });
      expect(verifyCheckpoint(note, LOG_KEY).ok).toBe(false);
    }
  });
});

describe("cosignatures", () => {
  it("sign the message of the specification with the time in front of the signature", async () => {
    expect(cosignatureMessage(SPEC_TEXT, TIME_SECONDS)).toBe(`cosignature/v1\ntime 1679315147\n${SPEC_TEXT}`);
    const made = await cosignCheckpoint(TEXT, WITNESSES[0]!, TIME_SECONDS, signerOf(2));
    expect(hexEncode(made.signature.subarray(0, 8))).toBe("00000000641850cb");
    // The specification's example carries this very time.
    const example = parseNote(SPEC_COSIGNED).signatures[1]!;
    expect(example.signature.subarray(0, 8)).toEqual(made.signature.subarray(0, 8));
    expect(example.signature).toHaveLength(72);
  });

  it("verify for their text, time and key alone", async () => {
    const made = await cosignCheckpoint(TEXT, WITNESSES[0]!, TIME_SECONDS, signerOf(2));
    const note = { text: TEXT, signatures: [made] };
    expect(verifyCosignature(note, WITNESSES[0]!)).toBe(TIME_SECONDS);
    expect(verifyCosignature(note, WITNESSES[1]!)).toBeUndefined();
    expect(verifyCosignature({ ...note, text: TEXT.replace("7", "8") }, WITNESSES[0]!)).toBeUndefined();
    for (const i of made.signature.keys()) {
      const signature = made.signature.map((byte, j) => (i === j ? byte ^ 1 : byte));
      expect(
        verifyCosignature({ text: TEXT, signatures: [{ ...made, signature }] }, WITNESSES[0]!),
      ).toBeUndefined();
    }
    const short = { ...made, signature: made.signature.subarray(0, 71) };
    expect(verifyCosignature({ text: TEXT, signatures: [short] }, WITNESSES[0]!)).toBeUndefined();
    const farFuture = concatBytes(new Uint8Array(8).fill(255), made.signature.subarray(8));
    const future = { ...made, signature: farFuture };
    expect(verifyCosignature({ text: TEXT, signatures: [future] }, WITNESSES[0]!)).toBeUndefined();
  });

  it("are not an ordinary signature of the same key, nor the other way round", async () => {
    const plain = makeVerifierKey(WITNESSES[0]!.name, 1, WITNESSES[0]!.publicKey);
    expect(plain.keyId).not.toEqual(WITNESSES[0]!.keyId);
    expect(() => verifyCosignature({ text: TEXT, signatures: [] }, plain)).toThrow(RangeError);
    await expect(cosignCheckpoint(TEXT, plain, 1, signerOf(2))).rejects.toThrow(RangeError);
  });

  it("verify each for its own witness, beside those of others", async () => {
    const signed = await signCheckpoint(CHECKPOINT, LOG_KEY, signerOf(1));
    const stranger = makeVerifierKey("stranger.example/w", 4, ed25519.getPublicKey(seedOf(9)));
    const lines = [
      await cosignCheckpoint(TEXT, WITNESSES[0]!, TIME_SECONDS, signerOf(2)),
      await cosignCheckpoint(TEXT, WITNESSES[1]!, TIME_SECONDS + 1, signerOf(3)),
      await cosignCheckpoint(TEXT, stranger, TIME_SECONDS, signerOf(9)),
      // The third witness's line, signed by somebody else.
      await cosignCheckpoint(TEXT, WITNESSES[2]!, TIME_SECONDS, signerOf(9)),
    ];
    const note = addNoteSignatures(signed, [...lines, lines[0]!]);
    expect(parseNote(note).signatures).toHaveLength(5);
    expect(addNoteSignatures(note, lines)).toBe(note);
    expect(verifyCheckpoint(note, LOG_KEY).ok).toBe(true);
    const times = WITNESSES.map((key) => verifyCosignature(parseNote(note), key));
    expect(times).toEqual([TIME_SECONDS, TIME_SECONDS + 1, undefined]);
    expect(verifyCosignature(parseNote(signed), WITNESSES[0]!)).toBeUndefined();
  });
});

describe("add-checkpoint bodies", () => {
  it("are the specification's example", () => {
    const parsed = parseAddCheckpoint(SPEC_ADD);
    expect(parsed.oldSize).toBe(20852014);
    expect(parsed.proof).toHaveLength(4);
    expect(parsed.checkpoint).toBe(SPEC_COSIGNED);
    expect(encodeAddCheckpoint(parsed)).toBe(SPEC_ADD);
    const first = { oldSize: 0, proof: [], checkpoint: SPEC_COSIGNED };
    expect(encodeAddCheckpoint(first)).toBe(`old 0\n\n${SPEC_COSIGNED}`);
    expect(parseAddCheckpoint(encodeAddCheckpoint(first))).toEqual(first);
  });

  it.each([
    ["nothing", ""],
    ["no old size", SPEC_ADD.replace("old ", "")],
    ["a leading zero", SPEC_ADD.replace("old 2", "old 02")],
    ["a negative size", SPEC_ADD.replace("old 2", "old -2")],
    ["a short hash", SPEC_ADD.replace("PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=", "PlRN")],
    ["a hash that is not base64", SPEC_ADD.replace("PlRN", "P*RN")],
    ["64 hashes", `old 1\n${`${"A".repeat(43)}=\n`.repeat(64)}\n${SPEC_COSIGNED}`],
    ["no blank line", "old 1\n"],
  ])("are refused with %s", (_, body) => {
    expect(() => parseAddCheckpoint(body)).toThrow(RangeError);
  });

  it("are not made of bad parts", () => {
    const good = { oldSize: 1, proof: [], checkpoint: SPEC_COSIGNED };
    expect(() => encodeAddCheckpoint({ ...good, oldSize: -1 })).toThrow(RangeError);
    expect(() => encodeAddCheckpoint({ ...good, proof: Array(64).fill(utf8Encode("x")) })).toThrow(
      RangeError,
    );
  });
});
