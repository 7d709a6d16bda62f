/** X.509 certificates (RFC 5280) of time-stamp authorities, and the chain from one to a pinned one. */
import { base64Decode, base64Encode, bytesEqual, concatBytes, hexEncode, utf8Decode } from "./bytes";
import { type DerValue, derItems, derOid, derTags, derTime, readDer, readDerValues, requireDer } from "./der";

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
  /** Its key may sign time stamps and nothing else (RFC 3161, 2.3). */
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

export function encodeCertificatePem({ raw }: Certificate): string {
  const lines = base64Encode(raw).match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}

const hashes: Record<string, string> = {
  "608648016503040201": "SHA-256",
  "608648016503040202": "SHA-384",
  "608648016503040203": "SHA-512",
};

/** The name that Web Cryptography has for a hash; undefined for SHA-1 and all that is unknown here. */
export const findHashName = (oid: string): string | undefined => hashes[oid];

/** By signature algorithm; `null`: it does not say which hash. */
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

/** From the two INTEGERs of a DER signature to the fixed width that Web Cryptography takes. */
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
