/**
 * A reader of static logs that shares no code with the service: written from the texts of c2sp.org/signed-note,
 * tlog-checkpoint and tlog-tiles and from RFC 6962 section 2.1 alone. It computes everything by its definition.
 */
import { createHash, createPublicKey, verify } from "node:crypto";

/** Undefined if there is no such file. */
type ReadFile = (path: string) => Buffer | undefined;

const sha256 = (...parts: Uint8Array[]) => createHash("sha256").update(Buffer.concat(parts)).digest();

/** MTH(D) of RFC 6962, over leaf hashes. */
function treeHash(hashes: readonly Buffer[]): Buffer {
  const [first] = hashes;
  if (first === undefined) return sha256();
  if (hashes.length === 1) return first;
  const split = 2 ** Math.ceil(Math.log2(hashes.length) - 1);
  return sha256(Buffer.of(1), treeHash(hashes.slice(0, split)), treeHash(hashes.slice(split)));
}

/** `1234067` → `x001/x234/067` */
function encodeIndex(index: number): string {
  const digits = String(index);
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, "0").match(/.{3}/g) ?? [];
  return groups.map((group, at) => (at < groups.length - 1 ? `x${group}` : group)).join("/");
}

function requireThat(fact: boolean, problem: string): void {
  if (!fact) throw new Error(problem);
}

/** The checkpoint's size and root, if the key signed it. */
function openCheckpoint(note: string, vkey: string): { size: number; root: string } {
  const [name = "", idHex, encoded = ""] = vkey.split(/\+(?=[0-9a-f]{8}\+)|(?<=\+[0-9a-f]{8})\+/);
  const raw = Buffer.from(encoded, "base64");
  const id = sha256(Buffer.from(`${name}\n`), raw).subarray(0, 4);
  requireThat(raw[0] === 1 && id.toString("hex") === idHex, "the verifier key is malformed");
  const text = note.slice(0, note.indexOf("\n\n") + 1);
  const der = Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), raw.subarray(1)]);
  const key = createPublicKey({ key: der, format: "der", type: "spki" });
  const lines = note.slice(text.length + 1).split("\n");
  const own = lines.filter((line) => line.startsWith(`— ${name} `)).map((line) => line.split(" ")[2] ?? "");
  const isSigned = own.some((line) => {
    const signature = Buffer.from(line, "base64");
    return signature.subarray(0, 4).equals(id) && verify(null, Buffer.from(text), key, signature.subarray(4));
  });
  requireThat(isSigned, "the log's key did not sign the checkpoint");
  const [origin, size, root = ""] = text.split("\n");
  requireThat(origin === name, "the checkpoint is of another log");
  return { size: Number(size), root };
}

function splitBundle(bundle: Buffer): Buffer[] {
  const entries: Buffer[] = [];
  for (let at = 0; at < bundle.length; ) {
    const length = bundle.readUInt16BE(at);
    entries.push(bundle.subarray(at + 2, at + 2 + length));
    at += 2 + length;
  }
  return entries;
}

/** The log's entries, after every tile, every bundle and the root were computed again from them. */
export function readStaticLog(read: ReadFile, vkey: string): Buffer[] {
  const need = (path: string) => {
    const file = read(path);
    if (file === undefined) throw new Error(`${path} is missing`);
    return file;
  };
  const { size, root } = openCheckpoint(need("checkpoint").toString("utf8"), vkey);
  const pathOf = (kind: number | "entries", index: number, width: number) =>
    `tile/${kind}/${encodeIndex(index)}${width === 256 ? "" : `.p/${width}`}`;
  const entries: Buffer[] = [];
  for (let index = 0; index * 256 < size; index += 1) {
    const width = Math.min(256, size - index * 256);
    const bundle = splitBundle(need(pathOf("entries", index, width)));
    requireThat(bundle.length === width, `bundle ${index} has ${bundle.length} entries, not ${width}`);
    entries.push(...bundle);
  }
  const leaves = entries.map((entry) => sha256(Buffer.of(0), entry));
  for (let level = 0; size >= 256 ** level; level += 1) {
    const span = 256 ** level;
    const hashes = Array.from({ length: Math.floor(size / span) }, (_, at) =>
      treeHash(leaves.slice(at * span, (at + 1) * span)),
    );
    for (let index = 0; index * 256 < hashes.length; index += 1) {
      const own = hashes.slice(index * 256, (index + 1) * 256);
      const tile = need(pathOf(level, index, own.length));
      requireThat(tile.equals(Buffer.concat(own)), `tile ${level}/${index} is not what its entries give`);
    }
  }
  requireThat(treeHash(leaves).toString("base64") === root, "the entries do not give the checkpoint's root");
  return entries;
}
