/**
 * Time stamps (RFC 3161): an authority's signed word that these bytes existed at a time. The response is kept whole, so
 * that `openssl ts -verify` reads it as well.
 */
import { bytesEqual, hexDecode, hexEncode, sha256 } from "#lib/protocol/encoding/bytes";
import {
  type Certificate,
  type DerValue,
  derItems,
  derOid,
  derTags,
  derTime,
  findHashName,
  isIssuedUnder,
  parseCertificate,
  readDer,
  requireDer,
  unsupportedAlgorithm,
  verifyWithKey,
  writeDer,
} from "#lib/protocol/encoding/certificate";

const oids = {
  sha256: "608648016503040201",
  signedData: "2a864886f70d010702",
  timeStampInfo: "2a864886f70d0109100104",
  contentType: "2a864886f70d010903",
  messageDigest: "2a864886f70d010904",
};

export const NONCE_BYTES = 8;

/** Asks for a stamp over a SHA-256, with the authority's certificate in it: 69 bytes. */
export function encodeTimeStampRequest(imprint: Uint8Array, random: Uint8Array): Uint8Array {
  const algorithm = writeDer(
    derTags.sequence,
    writeDer(derTags.oid, hexDecode(oids.sha256)),
    Uint8Array.of(5, 0),
  );
  return writeDer(
    derTags.sequence,
    writeDer(derTags.integer, Uint8Array.of(1)),
    writeDer(derTags.sequence, algorithm, writeDer(derTags.octetString, imprint)),
    writeDer(derTags.integer, toNonce(random)),
    writeDer(0x01, Uint8Array.of(0xff)),
  );
}

/** A positive INTEGER that DER writes in exactly 8 bytes. */
export function toNonce(random: Uint8Array): Uint8Array {
  const nonce = random.slice(0, NONCE_BYTES);
  nonce[0] = 0x40 | ((nonce[0] ?? 0) & 0x3f);
  return nonce;
}

export interface TimeStamp {
  timeMs: number;
  name: string;
  /** Hex; null if there is none. */
  nonce: string | null;
}

export type TimeStampVerdict =
  | ({ ok: true } & TimeStamp)
  /** `isUnknown`: it may be a good one, of an authority that is not pinned here or an algorithm that is not supported. */
  | { ok: false; problem: string; isUnknown?: true };

const refuse = (problem: string) => ({ ok: false as const, problem });

/** Accepts a stamp of exactly these bytes by a pinned authority. Never rejects for the response. */
export async function verifyTimeStamp(
  response: Uint8Array,
  message: Uint8Array,
  pinned: readonly Certificate[],
): Promise<TimeStampVerdict> {
  // Browsers have Web Cryptography on secure connections only.
  if (globalThis.crypto?.subtle === undefined)
    return { ...refuse("this browser can check it on a secure connection only"), isUnknown: true };
  try {
    const { info, infoBytes, certificates, signer } = parseResponse(response);
    if (!bytesEqual(info.imprint, sha256(message))) return refuse("it is over other data");
    const certificate = certificates.find(
      ({ issuer, serial }) => bytesEqual(issuer, signer.issuer) && bytesEqual(serial, signer.serial),
    );
    if (certificate === undefined) return refuse("the certificate that signed is not in it");
    if (!certificate.isTimeStamper) return refuse("its certificate is not for time stamps alone");
    const unsupported = unsupportedAlgorithm(signer.algorithm);
    if (unsupported !== null)
      return {
        ...refuse(`${unsupported} is not supported: RSA (PKCS #1 v1.5) and ECDSA are`),
        isUnknown: true,
      };
    if (!(await isSignedBy(certificate, infoBytes, signer))) return refuse("its signature does not verify");
    if (!(await isIssuedUnder(certificate, certificates, pinned, info.timeMs)))
      return { ...refuse("its certificate does not lead to a pinned one"), isUnknown: true };
    return { ok: true, timeMs: info.timeMs, name: certificate.name, nonce: info.nonce };
  } catch {
    return refuse("it is malformed");
  }
}

interface SignerInfo {
  issuer: Uint8Array;
  serial: Uint8Array;
  hash: string;
  attributes: Uint8Array;
  algorithm: string;
  signature: Uint8Array;
}

function parseResponse(response: Uint8Array) {
  const [status, token] = derItems(readDer(response, derTags.sequence));
  const granted = requireDer(derItems(status)[0], derTags.integer).content[0] ?? 2;
  if (granted > 1) throw new RangeError("the stamp was not granted");
  const [type, content] = derItems(token);
  if (derOid(type) !== oids.signedData) throw new RangeError("not signed data");
  const [, , encapsulated, ...rest] = derItems(derItems(content, 0xa0)[0]);
  const [infoType, infoContent] = derItems(encapsulated);
  if (derOid(infoType) !== oids.timeStampInfo) throw new RangeError("not a time stamp");
  const infoBytes = requireDer(derItems(infoContent, 0xa0)[0], derTags.octetString).content;
  const inside = rest.find(({ tag }) => tag === 0xa0);
  const [signer, ...others] = derItems(rest.at(-1), derTags.set);
  if (others.length > 0) throw new RangeError("more than one signer");
  return {
    info: parseInfo(infoBytes),
    infoBytes,
    certificates: inside === undefined ? [] : derItems(inside, 0xa0).map(({ raw }) => parseCertificate(raw)),
    signer: parseSigner(signer),
  };
}

function parseInfo(bytes: Uint8Array) {
  const [, , imprint, , time, ...rest] = derItems(readDer(bytes, derTags.sequence));
  const [algorithm, hash] = derItems(imprint);
  if (derOid(derItems(algorithm)[0]) !== oids.sha256) throw new RangeError("not a SHA-256");
  const nonce = rest.find(({ tag }) => tag === derTags.integer);
  return {
    imprint: requireDer(hash, derTags.octetString).content,
    timeMs: derTime(time),
    nonce: nonce === undefined ? null : hexEncode(nonce.content),
  };
}

function parseSigner(value: DerValue | undefined): SignerInfo {
  const [, id, digest, attributes, algorithm, signature] = derItems(value);
  const [issuer, serial] = derItems(id);
  const hash = findHashName(derOid(derItems(digest)[0]));
  if (hash === undefined) throw new RangeError("an unknown hash");
  return {
    issuer: requireDer(issuer, derTags.sequence).raw,
    serial: requireDer(serial, derTags.integer).content,
    hash,
    attributes: requireDer(attributes, 0xa0).raw,
    algorithm: derOid(derItems(algorithm)[0]),
    signature: requireDer(signature, derTags.octetString).content,
  };
}

/** RFC 5652, 5.4: the signature is over the attributes as a SET, and these hold the type and the hash of the content. */
async function isSignedBy(
  { publicKey }: Certificate,
  infoBytes: Uint8Array,
  { hash, attributes, algorithm, signature }: SignerInfo,
): Promise<boolean> {
  const signed = Uint8Array.from(attributes);
  signed[0] = derTags.set;
  const found = derItems(readDer(signed, derTags.set), derTags.set).map((attribute) => derItems(attribute));
  const findValue = (oid: string) => {
    const [first, ...more] = found.filter(([type]) => derOid(type) === oid);
    const values = more.length > 0 ? [] : derItems(first?.[1], derTags.set);
    return values.length === 1 ? values[0] : undefined;
  };
  const digest = await globalThis.crypto.subtle.digest(hash, infoBytes as Uint8Array<ArrayBuffer>);
  return (
    derOid(findValue(oids.contentType)) === oids.timeStampInfo &&
    bytesEqual(
      requireDer(findValue(oids.messageDigest), derTags.octetString).content,
      new Uint8Array(digest),
    ) &&
    verifyWithKey(publicKey, algorithm, hash, signed, signature)
  );
}
