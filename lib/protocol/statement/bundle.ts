/**
 * Sigstore bundles, format v0.3 (github.com/sigstore/protobuf-specs, sigstore_bundle.proto): a DSSE envelope,
 * a hint at the public key, and one log entry with inclusion proof and checkpoint. `integratedTime` (an int64 in
 * seconds, which protobuf's JSON writes as a decimal string) is the log's own word and nothing signs it: there is no
 * signed timestamp, so verifiers are run with a threshold of zero timestamps and one log.
 */
import { base64Decode, base64Encode } from "#lib/protocol/encoding/bytes";
import {
  canonicalJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "#lib/protocol/encoding/canonical-json";
import { parseStrictJson } from "#lib/protocol/encoding/strict-json";
import {
  computeNoteKeyHash,
  parseCheckpoint,
  parseDecimal,
  parseNote,
  type VerifierKey,
} from "#lib/protocol/tlog/checkpoint";
import { LEAF_KIND, LEAF_VERSION } from "#lib/protocol/tlog/log-leaf";
import { HASH_BYTES } from "#lib/protocol/tlog/merkle";
import { type Envelope, envelopeFromJson, envelopeToJson, requireFields, requireString } from "./dsse";

export const BUNDLE_MEDIA_TYPE = "application/vnd.dev.sigstore.bundle.v0.3+json";

export type LogBundle = {
  envelope: Envelope;
  leaf: Uint8Array;
  index: number;
  /** Time at which the log took the leaf in, Unix seconds; null in bundles of the first release. */
  integratedAtSeconds: number | null;
  proof: readonly Uint8Array[];
  /** The signed note, verbatim; its size and root are repeated in the bundle. */
  checkpoint: string;
  /** SHA-256 that names the log: {@link computeLogId} of its key. */
  logId: Uint8Array;
};

/** Log id in bundles and, as `checkpointKeyId`, in Sigstore trust roots. */
export function computeLogId({ name, type, publicKey }: VerifierKey): Uint8Array {
  return computeNoteKeyHash(name, type, publicKey);
}

/** Throws RangeError if the checkpoint is none. */
export function encodeBundle(bundle: LogBundle): string {
  return canonicalJson(bundleToJson(bundle));
}

/** Throws RangeError or SyntaxError for any bundle that was not built here; says nothing about what it proves. */
export function parseBundle(text: string): LogBundle {
  const json = parseStrictJson(text);
  const bundle = bundleFromJson(json);
  if (canonicalJson(bundleToJson(bundle)) !== canonicalJson(json)) {
    throw new RangeError("a bundle whose parts do not fit each other");
  }
  return bundle;
}

function bundleToJson(bundle: LogBundle): JsonObject {
  const { envelope, leaf, index, integratedAtSeconds, proof, checkpoint, logId } = bundle;
  const { size, root } = parseCheckpoint(parseNote(checkpoint).text);
  return {
    mediaType: BUNDLE_MEDIA_TYPE,
    dsseEnvelope: envelopeToJson(envelope),
    verificationMaterial: {
      publicKey: { hint: envelope.keyId },
      tlogEntries: [
        {
          logIndex: String(index),
          logId: { keyId: base64Encode(logId) },
          kindVersion: { kind: LEAF_KIND, version: LEAF_VERSION },
          ...(integratedAtSeconds !== null && { integratedTime: String(integratedAtSeconds) }),
          inclusionProof: {
            logIndex: String(index),
            rootHash: base64Encode(root),
            treeSize: String(size),
            hashes: proof.map(base64Encode),
            checkpoint: { envelope: checkpoint },
          },
          canonicalizedBody: base64Encode(leaf),
        },
      ],
    },
  };
}

function bundleFromJson(value: JsonValue): LogBundle {
  const bundle = requireFields(value, ["mediaType", "dsseEnvelope", "verificationMaterial"]);
  const material = requireFields(bundle.verificationMaterial, ["publicKey", "tlogEntries"]);
  if (!Array.isArray(material.tlogEntries) || material.tlogEntries.length !== 1) {
    throw new RangeError("not exactly one log entry");
  }
  const { integratedTime, ...rest } = requireObject(material.tlogEntries[0]);
  const entry = requireFields(rest, [
    "logIndex",
    "logId",
    "kindVersion",
    "inclusionProof",
    "canonicalizedBody",
  ]);
  const inclusion = requireFields(entry.inclusionProof, [
    "logIndex",
    "rootHash",
    "treeSize",
    "hashes",
    "checkpoint",
  ]);
  if (!Array.isArray(inclusion.hashes)) throw new RangeError("not an inclusion proof");
  const proof = inclusion.hashes.map((hash) => base64Decode(requireString(hash)));
  if (proof.some((hash) => hash.length !== HASH_BYTES)) throw new RangeError("a proof hash has 32 bytes");
  return {
    envelope: envelopeFromJson(bundle.dsseEnvelope),
    leaf: base64Decode(requireString(entry.canonicalizedBody)),
    index: parseDecimal(requireString(entry.logIndex)),
    integratedAtSeconds: integratedTime === undefined ? null : parseSeconds(integratedTime),
    proof,
    checkpoint: requireString(requireFields(inclusion.checkpoint, ["envelope"]).envelope),
    logId: base64Decode(requireString(requireFields(entry.logId, ["keyId"]).keyId)),
  };
}

function requireObject(value: JsonValue | undefined): JsonObject {
  if (!isJsonObject(value)) throw new RangeError("expected an object");
  return value;
}

/** Reads 0 for a missing field, as protobuf does. */
function parseSeconds(value: JsonValue): number {
  const seconds = parseDecimal(requireString(value));
  if (seconds === 0) throw new RangeError("not a time");
  return seconds;
}
