/**
 * For tests only: signatures in the shape of Wycheproof's vectors, with the same kinds of fault. Keys, signatures and
 * texts are OpenSSL's, and the faults are put in by arithmetic on them: none of it comes from the code under test.
 */
import { createHash, createPrivateKey, createPublicKey, sign } from "node:crypto";

interface SignatureVector {
  tcId: number;
  comment: string;
  msg: string;
  sig: string;
  result: "valid" | "invalid";
}

export interface SignatureVectors {
  testGroups: {
    publicKey: { pk: string };
    publicKeyPem: string;
    publicKeyJwk: { x: string };
    tests: SignatureVector[];
  }[];
}

/** The order of the base point, RFC 8032 section 5.1. */
const order = 2n ** 252n + 27_742_317_777_372_353_535_851_937_790_883_648_493n;
const fieldPrime = 2n ** 255n - 19n;

const groupCount = 10;
const messageLengths = [0, 1, 2, 16, 31, 32, 33, 64, 127, 1023];

const sha512 = (...parts: Uint8Array[]) =>
  parts.reduce((hash, part) => hash.update(part), createHash("sha512")).digest();
const readNumber = (bytes: Uint8Array) => BigInt(`0x${Buffer.from(bytes).reverse().toString("hex")}`);
const writeNumber = (value: bigint) => Buffer.from(value.toString(16).padStart(64, "0"), "hex").reverse();

/** The secret scalar of a seed, RFC 8032 section 5.1.5. */
function scalarOf(seed: Uint8Array): bigint {
  const bytes = sha512(seed).subarray(0, 32);
  return (readNumber(bytes) & ((1n << 254n) - 8n)) | (1n << 254n);
}

/** Fits the scalar to these bytes in R's place, as a signer whose nonce is zero: R says the identity. */
function signWithIdentity(R: Buffer, key: Buffer, message: Buffer, seed: Buffer): Buffer {
  const challenge = readNumber(sha512(R, key, message)) % order;
  return Buffer.concat([R, writeNumber((challenge * scalarOf(seed)) % order)]);
}

/** Makes signatures that no verifier may accept from a good one; by the fault's name. */
function spoil(good: Buffer, key: Buffer, message: Buffer, seed: Buffer): Record<string, Buffer> {
  const [R, S] = [good.subarray(0, 32), good.subarray(32)];
  const scalar = readNumber(S);
  const withScalar = (value: bigint) => Buffer.concat([R, writeNumber(value)]);
  const flipped = Buffer.from(good);
  flipped[31] = (flipped[31] ?? 0) ^ 0x80;
  const identityPlusPrime = writeNumber(1n + fieldPrime);
  const identityWithSign = writeNumber(1n + (1n << 255n));
  return {
    "S + L": withScalar(scalar + order),
    "S + 2 L": withScalar(scalar + 2n * order),
    "S + 8 L": withScalar(scalar + 8n * order),
    "S + 2^255": withScalar(scalar + (1n << 255n)),
    "L - S": withScalar(order - scalar),
    "S = 0": withScalar(0n),
    "S = 1": withScalar(1n),
    "S = L": withScalar(order),
    "S of ones": Buffer.concat([R, Buffer.alloc(32, 0xff)]),
    "R = 0": Buffer.concat([Buffer.alloc(32), S]),
    "R = 1": Buffer.concat([writeNumber(1n), S]),
    "R = p": Buffer.concat([writeNumber(fieldPrime), S]),
    "R of ones": Buffer.concat([Buffer.alloc(32, 0xff), S]),
    "R with the other sign": flipped,
    "R the identity as y = p + 1": signWithIdentity(identityPlusPrime, key, message, seed),
    "R the identity with the sign of no x": signWithIdentity(identityWithSign, key, message, seed),
    "R and S exchanged": Buffer.concat([S, R]),
    "R twice": Buffer.concat([R, R]),
    "all zero": Buffer.alloc(64),
    empty: Buffer.alloc(0),
    "R alone": R,
    "without its last byte": good.subarray(0, 63),
    "with a byte more": Buffer.concat([good, Buffer.alloc(1)]),
    "with a byte before": Buffer.concat([Buffer.alloc(1), good]),
    twice: Buffer.concat([good, good]),
  };
}

export function makeSignatureVectors(): SignatureVectors {
  let tcId = 0;
  const testGroups = Array.from({ length: groupCount }, (_, group) => {
    const seed = createHash("sha256").update(`vector ${group}`).digest();
    const pkcs8 = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed]);
    const secret = createPrivateKey({ key: pkcs8, format: "der", type: "pkcs8" });
    const key = createPublicKey(secret);
    const raw = key.export({ format: "der", type: "spki" }).subarray(12);
    const tests: SignatureVector[] = [];
    const add = (comment: string, message: Buffer, sig: Buffer, result: "valid" | "invalid") => {
      tcId += 1;
      tests.push({ tcId, comment, msg: message.toString("hex"), sig: sig.toString("hex"), result });
    };
    for (const length of messageLengths) {
      const message = Buffer.alloc(length, group + 1);
      const good = sign(null, message, secret);
      add("good", message, good, "valid");
      add("another message", Buffer.concat([message, Buffer.alloc(1)]), good, "invalid");
      for (const [fault, sig] of length === 16 ? Object.entries(spoil(good, raw, message, seed)) : [])
        add(fault, message, sig, "invalid");
    }
    return {
      publicKey: { pk: raw.toString("hex") },
      publicKeyPem: String(key.export({ format: "pem", type: "spki" })),
      publicKeyJwk: { x: String(key.export({ format: "jwk" }).x) },
      tests,
    };
  });
  return { testGroups };
}
