import { ed25519 } from "@noble/curves/ed25519.js";
import { describe, expect, it } from "vitest";
import { base64Decode, hexEncode, utf8Encode } from "#lib/protocol/encoding/bytes";
import {
  encodeNote,
  encodeVerifierKey,
  findSignatures,
  makeVerifierKey,
  parseNote,
  parseSignatureLines,
  parseVerifierKey,
  signNoteText,
  verifyNoteSignature,
} from "./checkpoint";

// The reference vector of golang.org/x/mod/sumdb/note.
const VKEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
const SEED = base64Decode("AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz").slice(1);
const TEXT =
  "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
const LINE =
  "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";
const NOTE = `${TEXT}\n${LINE}`;
const KEY = parseVerifierKey(VKEY);
const sign = (message: Uint8Array) => ed25519.sign(message, SEED);

/** The example of c2sp.org/signed-note, whose text has a blank line in it. */
const SPEC_NOTE = `Ognuno sta solo sul cuor della terra
trafitto da un raggio di sole:

ed è subito sera.

— quasimodo.example/salvatore NnugSzTjtVAewIS+Z/iJhUPeFDkO/5QQ2i5ddnGITLlC+EhfLW9oJKONrMouFSQU0xMcXxj99ihAQwaqP3ZekRwNtIc=
`;

describe("verifier keys", () => {
  it("read and write the reference key", () => {
    expect(KEY).toMatchObject({ name: "PeterNeumann", type: 1, publicKey: ed25519.getPublicKey(SEED) });
    expect(hexEncode(KEY.keyId)).toBe("c74f20a3");
    expect(encodeVerifierKey(KEY)).toBe(VKEY);
    expect(encodeVerifierKey(makeVerifierKey("PeterNeumann", 1, KEY.publicKey))).toBe(VKEY);
  });

  it("refuse every part of a key and every key with one character changed", () => {
    for (let from = 0; from <= VKEY.length; from++) {
      for (let to = from; to <= VKEY.length; to++) {
        if (to - from === VKEY.length) continue;
        expect(() => parseVerifierKey(VKEY.slice(from, to))).toThrow(RangeError);
      }
    }
    for (let i = 0; i < VKEY.length; i++) {
      const next = String.fromCharCode(VKEY.charCodeAt(i) + 1);
      expect(() => parseVerifierKey(VKEY.slice(0, i) + next + VKEY.slice(i + 1))).toThrow(RangeError);
    }
  });

  it("refuse a wrong length or an unknown type under a fitting key ID, and bad names", () => {
    // Names of note_test.go, with adjusted key hashes.
    for (const vkey of [
      "PeterNeumann+cc469956+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWBADKEY==",
      "PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
    ]) {
      expect(() => parseVerifierKey(vkey)).toThrow(RangeError);
    }
    for (const name of ["", "a b", "a+b", "a\u00a0b", "a\u0085b", "a\u2028b", "a\nb", "a\u0000b", "\ud800"]) {
      expect(() => makeVerifierKey(name, 1, KEY.publicKey)).toThrow(RangeError);
    }
    expect(() => makeVerifierKey("a", 1, new Uint8Array(31))).toThrow(RangeError);
  });
});

describe("signed notes", () => {
  it("are byte for byte those of the reference implementation", async () => {
    expect(encodeNote({ text: TEXT, signatures: [await signNoteText(TEXT, KEY, sign)] })).toBe(NOTE);
    const note = parseNote(NOTE);
    expect(note.text).toBe(TEXT);
    expect(encodeNote(note)).toBe(NOTE);
    expect(verifyNoteSignature(note, KEY)).toBe(true);
  });

  it("split at the last blank line", () => {
    const note = parseNote(SPEC_NOTE);
    expect(note.text.endsWith("\n\ned è subito sera.\n")).toBe(true);
    expect(note.signatures).toHaveLength(1);
    expect(note.signatures[0]).toMatchObject({ name: "quasimodo.example/salvatore" });
    expect(encodeNote(note)).toBe(SPEC_NOTE);
  });

  it("verify only for the text and the key that signed", () => {
    const note = parseNote(NOTE);
    expect(verifyNoteSignature({ ...note, text: TEXT.replace("cryptography", "cryptographY") }, KEY)).toBe(
      false,
    );
    expect(verifyNoteSignature({ ...note, signatures: [] }, KEY)).toBe(false);
    const otherName = makeVerifierKey("PeterNeuman", 1, KEY.publicKey);
    expect(findSignatures(note, otherName)).toEqual([]);
    expect(verifyNoteSignature(note, otherName)).toBe(false);
    // The same name and ID claimed for another public key: the signature itself decides.
    const impostor = { ...KEY, publicKey: ed25519.getPublicKey(new Uint8Array(32)) };
    expect(verifyNoteSignature(note, impostor)).toBe(false);
  });

  it("ignore lines of unknown keys but not a false line of the known one", () => {
    const unknown = LINE.replace("PeterNeumann", "SomeoneElse");
    expect(verifyNoteSignature(parseNote(`${TEXT}\n${unknown}${LINE}`), KEY)).toBe(true);
    const [line] = parseSignatureLines(LINE);
    const forged = { ...line!, signature: line!.signature.map((byte, i) => (i === 9 ? byte ^ 1 : byte)) };
    const both = { text: TEXT, signatures: [line!, forged] };
    expect(verifyNoteSignature(parseNote(encodeNote(both)), KEY)).toBe(false);
  });

  it.each([
    ["nothing", ""],
    ["no signature", TEXT],
    ["no signature after the blank line", `${TEXT}\n`],
    ["no blank line", TEXT + LINE],
    ["no final newline", NOTE.slice(0, -1)],
    ["two final newlines", `${NOTE}\n`],
    ["a carriage return", NOTE.replaceAll("\n", "\r\n")],
    ["a control character in the text", `a\u0001\n\n${LINE}`],
    ["a tab in the text", `a\tb\n\n${LINE}`],
    ["a lone surrogate", `a\ud800\n\n${LINE}`],
    ["a hyphen for the dash", `${TEXT}\n${LINE.replace("—", "-")}`],
    ["two spaces", `${TEXT}\n${LINE.replace(" x08", "  x08")}`],
    ["a name with a plus", `${TEXT}\n${LINE.replace("PeterNeumann", "Peter+Neumann")}`],
    ["base64 without padding", `${TEXT}\n${LINE.replace("=", "")}`],
    ["a signature of nothing", `${TEXT}\n— PeterNeumann x08gow==\n`],
    ["text between signatures", `${TEXT}\n${LINE}hello\n${LINE}`],
    ["too many signatures", `${TEXT}\n${LINE.repeat(101)}`],
  ])("refuse %s", (_, note) => {
    expect(() => parseNote(note)).toThrow(RangeError);
  });

  it("are not made of a text that would be read otherwise", async () => {
    const [line] = parseSignatureLines(LINE);
    for (const text of ["", "no newline", "a\n\nno newline", "a\rb\n"]) {
      expect(() => encodeNote({ text, signatures: [line!] })).toThrow(RangeError);
    }
    expect(() => encodeNote({ text: TEXT, signatures: [] })).toThrow(RangeError);
    const cosigner = makeVerifierKey("w", 4, KEY.publicKey);
    await expect(signNoteText(TEXT, cosigner, sign)).rejects.toThrow(RangeError);
    expect(() => verifyNoteSignature(parseNote(NOTE), cosigner)).toThrow(RangeError);
  });

  it("wait for a signer that answers later", async () => {
    const later = async (message: Uint8Array) => sign(message);
    expect((await signNoteText(TEXT, KEY, later)).signature).toEqual(sign(utf8Encode(TEXT)));
  });
});
