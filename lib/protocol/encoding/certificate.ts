/** X.509 certificates (RFC 5280) of time-stamp authorities, and the chain from one to a pinned one. */
import { base64Decode, bytesEqual, concatBytes, hexEncode, utf8Decode } from "./bytes";

export interface DerValue {
  /** Class, constructed bit and number in one byte; longer tags are refused. */
  tag: number;
  content: Uint8Array;
  raw: Uint8Array;
}

export const derTags = {
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  sequence: 0x30,
  set: 0x31,
  utcTime: 0x17,
  generalizedTime: 0x18,
} as const;

/** The values one after the other. Throws RangeError for what is not DER. */
function readDerValues(bytes: Uint8Array): DerValue[] {
  const values: DerValue[] = [];
  for (let at = 0; at < bytes.length; ) {
    const { tag, start, end } = readHeader(bytes, at);
    values.push({ tag, content: bytes.subarray(start, end), raw: bytes.subarray(at, end) });
    at = end;
  }
  return values;
}

function readHeader(bytes: Uint8Array, at: number): { tag: number; start: number; end: number } {
  const tag = bytes[at] ?? 0;
  const first = bytes[at + 1];
  if (first === undefined || (tag & 0x1f) === 0x1f) throw new RangeError("not DER");
  if (first < 0x80) return within(bytes, tag, at + 2, first);
  const count = first & 0x7f;
  const digits = bytes.subarray(at + 2, at + 2 + count);
  if (count === 0 || count > 4 || digits.length < count || digits[0] === 0) throw new RangeError("not DER");
  const length = digits.reduce((sum, digit) => sum * 256 + digit, 0);
  if (length < 0x80) throw new RangeError("not DER");
  return within(bytes, tag, at + 2 + count, length);
}

function within(bytes: Uint8Array, tag: number, start: number, length: number) {
  if (start + length > bytes.length) throw new RangeError("not DER");
  return { tag, start, end: start + length };
}

/** The one value that the bytes are. */
export function readDer(bytes: Uint8Array, tag: number): DerValue {
  const [value, ...rest] = readDerValues(bytes);
  return requireDer(rest.length === 0 ? value : undefined, tag);
}

export function requireDer(value: DerValue | undefined, tag: number): DerValue {
  if (value === undefined || value.tag !== tag) throw new RangeError("an unexpected ASN.1 value");
  return value;
}

/** The values inside a SEQUENCE, or another constructed one. */
export function derItems(value: DerValue | undefined, tag: number = derTags.sequence): DerValue[] {
  return readDerValues(requireDer(value, tag).content);
}

/** An OBJECT IDENTIFIER's bytes in hex: identifiers are only compared. */
export function derOid(value: DerValue | undefined): string {
  return hexEncode(requireDer(value, derTags.oid).content);
}

/** RFC 5280, 4.1.2.5: UTCTime, or GeneralizedTime, here with a fraction (RFC 3161). In milliseconds. */
export function derTime(value: DerValue | undefined): number {
  const isShort = value?.tag === derTags.utcTime;
  const { content } = requireDer(value, isShort ? derTags.utcTime : derTags.generalizedTime);
  const text = String.fromCharCode(...content);
  const match = /^(\d{2,4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(?:\.(\d{1,9}))?Z$/.exec(text);
  const [, year = "", month, day, hour, minute, second, fraction = "0"] = match ?? [];
  if (year.length !== (isShort ? 2 : 4)) throw new RangeError("not a time");
  const century = isShort ? (Number(year) < 50 ? "20" : "19") : "";
  const time = Date.parse(
    `${century}${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction.slice(0, 3).padEnd(3, "0")}Z`,
  );
  if (Number.isNaN(time)) throw new RangeError("not a time");
  return time;
}

/** Writes a value of at most 127 bytes. */
export function writeDer(tag: number, ...contents: Uint8Array[]): Uint8Array {
  const content = concatBytes(...contents);
  if (content.length > 0x7f) throw new RangeError("longer than one byte of length can say");
  return concatBytes(Uint8Array.of(tag, content.length), content);
}

export interface Certificate {
  raw: Uint8Array;
  signed: Uint8Array;
  signatureAlgorithm: string;
  signature: Uint8Array;
  serial: Uint8Array;
  issuer: Uint8Array;
  subject: Uint8Array;
  name: string;
  publicKey: Uint8Array;
  fromMs: number;
  toMs: number;
  isCa: boolean;
  /** True if its key may sign time stamps and nothing else (RFC 3161, 2.3). */
  isTimeStamper: boolean;
}

const oids = {
  commonName: "550403",
  organization: "55040a",
  basicConstraints: "551d13",
  extendedKeyUsage: "551d25",
  timeStamping: "2b06010505070308",
};

const isTrue = (value: DerValue | undefined) => value?.tag === 0x01 && value.content[0] === 0xff;

export function parseCertificate(der: Uint8Array): Certificate {
  const raw = readDer(der, derTags.sequence);
  const [signed, algorithm, signature] = derItems(raw);
  const fields = derItems(signed).filter(({ tag }) => tag !== 0xa0);
  const [serial, , issuer, validity, subject, publicKey] = fields;
  const [from, to] = derItems(validity);
  const extensions = fields.find(({ tag }) => tag === 0xa3);
  const found = extensions === undefined ? [] : derItems(readDerValues(extensions.content)[0]);
  return {
    raw: der,
    signed: requireDer(signed, derTags.sequence).raw,
    signatureAlgorithm: derOid(derItems(algorithm)[0]),
    signature: requireDer(signature, derTags.bitString).content.subarray(1),
    serial: requireDer(serial, derTags.integer).content,
    issuer: requireDer(issuer, derTags.sequence).raw,
    subject: requireDer(subject, derTags.sequence).raw,
    name: readName(subject),
    publicKey: requireDer(publicKey, derTags.sequence).raw,
    fromMs: derTime(from),
    toMs: derTime(to),
    ...readExtensions(found),
  };
}

function readName(subject: DerValue | undefined): string {
  const parts = derItems(subject).flatMap((set) => derItems(set, derTags.set).map((part) => derItems(part)));
  const find = (oid: string) => parts.find(([type]) => derOid(type) === oid)?.[1];
  const value = find(oids.commonName) ?? find(oids.organization);
  return value === undefined ? "an authority without a name" : utf8Decode(value.content);
}

function readExtensions(extensions: DerValue[]): Pick<Certificate, "isCa" | "isTimeStamper"> {
  let isCa = false;
  let isTimeStamper = false;
  for (const extension of extensions) {
    const [id, ...rest] = derItems(extension);
    const items = () =>
      derItems(readDer(requireDer(rest.at(-1), derTags.octetString).content, derTags.sequence));
    if (derOid(id) === oids.basicConstraints) isCa = isTrue(items()[0]);
    if (derOid(id) === oids.extendedKeyUsage)
      isTimeStamper = isTrue(rest[0]) && items().map(derOid).join() === oids.timeStamping;
  }
  return { isCa, isTimeStamper };
}

/** The certificates in a PEM file. Throws RangeError if there is none, or one is malformed. */
export function parseCertificates(pem: string): Certificate[] {
  const blocks = [
    ...pem.matchAll(/-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/g),
  ];
  if (blocks.length === 0) throw new RangeError("no certificate in PEM");
  return blocks.map(([, base64 = ""]) => {
    return parseCertificate(base64Decode(base64.replaceAll(/\s/g, "")));
  });
}

const hashes: Record<string, string> = {
  "608648016503040201": "SHA-256",
  "608648016503040202": "SHA-384",
  "608648016503040203": "SHA-512",
};

/** The name that Web Cryptography has for a hash; undefined for SHA-1 and all that is unknown here. */
export const findHashName = (oid: string): string | undefined => hashes[oid];

/** Keyed by signature algorithm; `null`: it does not say which hash. */
const signatureHashes: Record<string, string | null> = {
  "2a864886f70d010101": null,
  "2a864886f70d01010b": "SHA-256",
  "2a864886f70d01010c": "SHA-384",
  "2a864886f70d01010d": "SHA-512",
  "2a8648ce3d040302": "SHA-256",
  "2a8648ce3d040303": "SHA-384",
  "2a8648ce3d040304": "SHA-512",
};

/** Algorithms that others use, and Web Cryptography can't check for everyone. */
const unsupportedNames: Record<string, string> = {
  "2a864886f70d01010a": "RSASSA-PSS",
  "2b6570": "Ed25519",
  "2b6571": "Ed448",
};

/** Null if `verifyWithKey` knows the algorithm. */
export const unsupportedAlgorithm = (oid: string): string | null =>
  Object.hasOwn(signatureHashes, oid) ? null : (unsupportedNames[oid] ?? `the algorithm ${oid}`);

const curves: Record<string, [name: string, bytes: number]> = {
  "2a8648ce3d030107": ["P-256", 32],
  "2b81040022": ["P-384", 48],
  "2b81040023": ["P-521", 66],
};

/** Converts the two INTEGERs of a DER signature to the fixed width that Web Cryptography takes. */
function toFixedWidth(signature: Uint8Array, bytes: number): Uint8Array {
  const numbers = derItems(readDer(signature, derTags.sequence)).map((value) => {
    const { content } = requireDer(value, derTags.integer);
    const digits = content.subarray(content.findIndex((byte) => byte !== 0));
    if (digits.length > bytes) throw new RangeError("not a signature of this curve");
    return concatBytes(new Uint8Array(bytes - digits.length), digits);
  });
  return concatBytes(...numbers);
}

/**
 * RSA (PKCS #1 v1.5) or ECDSA by Web Cryptography. `hash`: if the algorithm does not say it. False for everything that
 * is unknown or malformed, too.
 */
export async function verifyWithKey(
  publicKey: Uint8Array,
  algorithm: string,
  hash: string | undefined,
  message: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> {
  const named = signatureHashes[algorithm];
  const hashName = named ?? hash;
  if (named === undefined || hashName === undefined) return false;
  const bytes = (value: Uint8Array) => value as Uint8Array<ArrayBuffer>;
  const { subtle } = globalThis.crypto;
  try {
    const [keyAlgorithm] = derItems(readDer(publicKey, derTags.sequence));
    const curve = curves[hexEncode(derItems(keyAlgorithm)[1]?.content ?? new Uint8Array())];
    const scheme =
      curve === undefined
        ? { name: "RSASSA-PKCS1-v1_5", hash: hashName }
        : { name: "ECDSA", namedCurve: curve[0], hash: hashName };
    const key = await subtle.importKey("spki", bytes(publicKey), scheme, false, ["verify"]);
    const given = curve === undefined ? signature : toFixedWidth(signature, curve[1]);
    return await subtle.verify(scheme, key, bytes(given), bytes(message));
  } catch {
    return false;
  }
}

const longestChain = 5;

/** Accepts a certificate that chains to a pinned one, or is pinned itself; each must be valid at that time. */
export async function isIssuedUnder(
  certificate: Certificate,
  others: readonly Certificate[],
  pinned: readonly Certificate[],
  atMs: number,
  depth = 1,
): Promise<boolean> {
  if (atMs < certificate.fromMs || atMs > certificate.toMs || depth > longestChain) return false;
  if (pinned.some(({ raw }) => bytesEqual(raw, certificate.raw))) return true;
  for (const issuer of [...pinned, ...others]) {
    if (!issuer.isCa || !bytesEqual(issuer.subject, certificate.issuer)) continue;
    const { signed, signatureAlgorithm, signature } = certificate;
    if (!(await verifyWithKey(issuer.publicKey, signatureAlgorithm, undefined, signed, signature))) continue;
    if (await isIssuedUnder(issuer, others, pinned, atMs, depth + 1)) return true;
  }
  return false;
}
