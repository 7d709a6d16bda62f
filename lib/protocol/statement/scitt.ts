/**
 * An attestation as a SCITT transparent statement (RFC 9943): a COSE_Sign1 over the payload, with a receipt (RFC 9942) whose
 * leaf and tree are those of the log. In CBOR's deterministic encoding (RFC 8949, 4.2.1).
 */
import { encode, rfc8949EncodeOptions, Tagged } from "cborg";
import { utf8Encode } from "#lib/protocol/encoding/bytes";
import { STATEMENT_MEDIA_TYPE } from "./statement";

export const SCITT_MEDIA_TYPE = "application/scitt-statement+cose";

type Header = [number | string, unknown];

/** Encodes with sorted maps. */
const encodeCbor = (value: unknown): Uint8Array => encode(value, rfc8949EncodeOptions);

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
  headers: Header[],
  unprotected: Header[],
  shown: Uint8Array | null,
): Uint8Array {
  const own: Header[] = [
    [label.alg, edDsa],
    [label.kid, utf8Encode(signer.keyId)],
  ];
  const header = encodeCbor(new Map([...own, ...headers]));
  const signature = signer.sign(encodeCbor(["Signature1", header, new Uint8Array(), payload]));
  return encodeCbor(new Tagged(18, [header, new Map(unprotected), shown, signature]));
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
  const about = (iss: string): Header => [
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
    [[label.vdp, new Map([[inclusionProof, [proof]]])]],
    null,
  );
  const unprotected: Header[] = [
    [label.receipts, [receipt]],
    [ENTRY_LABEL, log.entry],
  ];
  return sign1(
    signer,
    payload,
    [[label.contentType, STATEMENT_MEDIA_TYPE], about(issuer)],
    unprotected,
    payload,
  );
}
