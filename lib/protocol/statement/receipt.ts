/** Input of the verifier: a receipt, which is not vouched for, and the trusted keys and costly checks. */

import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import type { Certificate } from "#lib/protocol/encoding/certificate";
import type { VerifyEd25519 } from "#lib/protocol/keys/ed25519";
import type { ShownRecord } from "#lib/protocol/record/agent-record";
import type { BeaconBound } from "#lib/protocol/time/not-before-shape";
import type { verifyTimeStamp } from "#lib/protocol/time/time-stamp";
import type { VerifierKey } from "#lib/protocol/tlog/checkpoint";
import type { Outcome } from "./outcome";

/** Untrusted: everything in here comes from the party that is checked. */
export interface Receipt {
  attestationId: string;
  agentSlug: string;
  /** `hidden`: private, and the verifier is not its owner. `lost`: gone, without a note that it was erased. */
  payload: Uint8Array | "hidden" | "erased" | "lost";
  /** A time of erasure is given, which fits no payload but an erased one. */
  isErased: boolean;
  payloadHash: Uint8Array;
  /** Over the payload itself; a Sigstore bundle carries the envelope's signature alone. */
  signature: Uint8Array | "absent";
  envelopeSignature: Uint8Array;
  keyId: string;
  isPublic: boolean;
  log: {
    index: number;
    treeSize: number;
    entry: Uint8Array;
    inclusionProof: Uint8Array[];
    checkpoint: string;
  };
  /** `absent`, here and below: this kind of file does not carry it, so its absence says nothing. */
  toolManifest: Uint8Array | null | "absent";
  humanAuthorization: JsonObject | null | "absent";
  /** Proof as sent; null if the attestation has none, or `absent`. */
  zkProof: unknown;
  record: ShownRecord | "absent";
  time: TimeEvidence | "absent";
}

export interface TimeEvidence {
  /** The cosigned note that the payload names in `not_before`. */
  checkpoint: string | null;
  anchors: Anchor[];
}

/** A checkpoint that covers the leaf, with who cosigned it and who stamped its text. */
export interface Anchor {
  treeSize: number;
  inclusionProof: Uint8Array[];
  checkpoint: string;
  /** `response`: of RFC 3161, whole. */
  timeStamps: { tsa: string; response: Uint8Array }[];
}

export interface TrustedKey {
  keyId: string;
  publicKey: Uint8Array;
  /** The log that the range counts in; a service that began a new log has a range for each. Default: any. */
  logOrigin?: string;
  /** Log indexes for which its signatures are valid: `[from, to)`. */
  validFromIndex: number;
  validToIndex: number | null;
  /** True if somebody else may have it. What it signed before `validToIndex` still counts, with a warning. */
  isRevoked?: boolean;
}

export interface Trust {
  keys: TrustedKey[];
  logKey: VerifierKey;
  /** Verifies by keys of the service and of its agents: as strict as the strict verifier, which is the default. */
  verifySignature?: VerifyEd25519;
  /** Verifies both signatures over the payload, in place of `verifySignature`; its result isn't cached. */
  verifyPayload?: VerifyEd25519 | undefined;
  /** Witnesses whose cosignatures count as times; default: none. */
  witnesses?: readonly VerifierKey[];
  /** Certificates of time-stamp authorities, or of those that issue theirs; default: none. */
  timeAuthorities?: readonly Certificate[];
  /** Default: the function of that name. */
  verifyTimeStamp?: typeof verifyTimeStamp;
}

export interface ZkReport {
  /** Passed, failed, or not applicable: the proof says nothing to this reader. */
  outcome: Outcome;
  isKeyRevoked: boolean;
}

/** The checks that cost a pairing, injected: a worker pool on the server, loaded on demand in the browser. */
export interface CostlyChecks {
  verifyHumanAuthorization(object: JsonObject): Promise<Outcome>;
  verifyBeacon(bound: BeaconBound): Promise<boolean>;
  verifyZkProof(
    zkProof: unknown,
    expected: { attestationId: string; payload: Uint8Array | null },
  ): Promise<ZkReport>;
}
