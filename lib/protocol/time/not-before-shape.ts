/** The shape of `predicate.not_before` (not-before.ts), apart from what judges it. */
import { isJsonObject } from "#lib/protocol/encoding/canonical-json";
import { isTreeSize } from "#lib/protocol/tlog/merkle";

export interface CosignedBound {
  type: "tlog-cosignature";
  origin: string;
  size: number;
  /** hex SHA-256 of the note with its cosignature lines */
  checkpoint_hash: string;
}

export interface BeaconBound {
  type: "drand";
  chain: string;
  round: number;
  /** hex */
  signature: string;
}

export type NotBefore = CosignedBound | BeaconBound;

const isHex = (value: unknown, bytes: number) =>
  typeof value === "string" && value.length === 2 * bytes && /^[0-9a-f]*$/.test(value);

export function isNotBefore(value: unknown): value is NotBefore {
  if (!isJsonObject(value)) return false;
  const { type, origin, size, checkpoint_hash, chain, round, signature } = value;
  if (type === "tlog-cosignature")
    return typeof origin === "string" && isTreeSize(size as number) && isHex(checkpoint_hash, 32);
  return type === "drand" && isHex(chain, 32) && Number.isSafeInteger(round) && isHex(signature, 48);
}
