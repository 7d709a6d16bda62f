/**
 * An attestation as a SCITT transparent statement (RFC 9943): a COSE_Sign1 over the payload, with a receipt (RFC 9942) whose
 * leaf and tree are those of the log. In CBOR's deterministic encoding (RFC 8949, 4.2.1), of the few types that it needs.
 */
import { concatBytes, utf8Encode } from "#lib/protocol/encoding/bytes";
import { STATEMENT_MEDIA_TYPE } from "./statement";

export const SCITT_MEDIA_TYPE = "application/scitt-statement+cose";

/** A tag has its number and what it is on. */
type Cbor =
  | number
  | string
  | null
  | Uint8Array
  | Cbor[]
  | Map<number | string, Cbor>
  | { tag: number; of: Cbor };

function encodeHead(type: number, value: number): Uint8Array {
  if (value < 24) return Uint8Array.of((type << 5) | value);
  const size = value < 2 ** 8 ? 0 : value < 2 ** 16 ? 1 : value < 2 ** 32 ? 2 : 3;
  const bytes = new Uint8Array(1 + 2 ** size);
  bytes[0] = (type << 5) | (24 + size);
  for (let at = bytes.length - 1, rest = value; at > 0; at -= 1, rest = Math.floor(rest / 256))
    bytes[at] = rest % 256;
  return bytes;
}

/** Map entries as they are given: in the order of their encoded keys. */
export function encodeCbor(value: Cbor): Uint8Array {
  if (value === null) return Uint8Array.of(0xf6);
  if (typeof value === "number") return value < 0 ? encodeHead(1, -1 - value) : encodeHead(0, value);
  if (value instanceof Uint8Array) return concatBytes(encodeHead(2, value.length), value);
  if (typeof value === "string") {
    const bytes = utf8Encode(value);
    return concatBytes(encodeHead(3, bytes.length), bytes);
  }
  if (Array.isArray(value)) return concatBytes(encodeHead(4, value.length), ...value.map(encodeCbor));
  if (value instanceof Map)
    return concatBytes(encodeHead(5, value.size), ...[...value].flat().map((one) => encodeCbor(one as Cbor)));
  return concatBytes(encodeHead(6, value.tag), encodeCbor(value.of));
}

const label = { alg: 1, contentType: 3, kid: 4, claims: 15, receipts: 394, vds: 395, vdp: 396 } as const;
const claim = { iss: 1, sub: 2 } as const;
const edDsa = -8;
/** RFC 9162's tree over SHA-256, which is RFC 6962's. */
const rfc9162Sha256 = 1;
const inclusionProof = -1;
/** The leaf's bytes, which say whose they are: the hash of the payload is in them. Of ours alone. */
const ENTRY_LABEL = "countersign.entry";

interface CoseSigner {
  keyId: string;
  sign(message: Uint8Array): Uint8Array;
}

/** COSE_Sign1; `shown`: the payload as it is in the object, null if the reader computes it. */
function sign1(
  signer: CoseSigner,
  payload: Uint8Array,
  headers: [number, Cbor][],
  unprotected: Map<number | string, Cbor>,
  shown: Uint8Array | null,
): Uint8Array {
  const kid: [number, Cbor] = [label.kid, utf8Encode(signer.keyId)];
  const sorted = [[label.alg, edDsa] as [number, Cbor], kid, ...headers].sort(([a], [b]) => a - b);
  const header = encodeCbor(new Map(sorted));
  const signature = signer.sign(encodeCbor(["Signature1", header, new Uint8Array(), payload]));
  return encodeCbor({ tag: 18, of: [header, unprotected, shown, signature] });
}

export interface ScittFacts {
  payload: Uint8Array;
  attestationId: string;
  issuer: string;
  signer: CoseSigner;
  log: {
    origin: string;
    signer: CoseSigner;
    index: number;
    treeSize: number;
    root: Uint8Array;
    inclusionProof: Uint8Array[];
    entry: Uint8Array;
  };
}

export function encodeScitt({ payload, attestationId, issuer, signer, log }: ScittFacts): Uint8Array {
  const about = (iss: string): [number, Cbor] => [
    label.claims,
    new Map([
      [claim.iss, iss],
      [claim.sub, `urn:uuid:${attestationId}`],
    ]),
  ];
  const proof = encodeCbor([log.treeSize, log.index, log.inclusionProof]);
  const receipt = sign1(
    log.signer,
    log.root,
    [[label.vds, rfc9162Sha256], about(log.origin)],
    new Map([[label.vdp, new Map([[inclusionProof, [proof]]])]]),
    null,
  );
  const unprotected = new Map<number | string, Cbor>([
    [label.receipts, [receipt]],
    [ENTRY_LABEL, log.entry],
  ]);
  return sign1(
    signer,
    payload,
    [[label.contentType, STATEMENT_MEDIA_TYPE], about(issuer)],
    unprotected,
    payload,
  );
}
