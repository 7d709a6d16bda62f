/** The log's head in this process's memory, and under its lock in the database. */

import type { Executor } from "#lib/db/client";
import { tileReader } from "#lib/log/reading/reader";
import type { SigningKeys } from "#lib/log/signing/signing-keys";
import { bytesEqual, hexEncode } from "#lib/protocol/encoding/bytes";
import type { RightEdge } from "#lib/protocol/tlog/tiles";
import { type ActiveKeys, type Head, loadEdge, lockOpenHead, type OpenLog, readActiveKeyIds } from "./append";
import { type ForkGuard, requirePrefix, type SignedHead } from "./fork-guard";
import { SigningKeyChanged } from "./item";
import { createKnownPlaces, type KnownPlaces } from "./sequence-positions";

export interface CommittedHead extends SignedHead {
  checkpoint: string;
}

/** The head as this process last left it. Another process may have moved it since. */
export interface KnownHead {
  log: OpenLog;
  edge: RightEdge;
  active: ActiveKeys;
  /** As they are if the log's head is this one. */
  places: KnownPlaces;
}

export const toSigned = ({ log, edge }: KnownHead): SignedHead => ({
  logId: log.id,
  size: edge.size,
  rootHex: hexEncode(edge.root),
});

/** Edge of the last commit if the head is still that; else the edge is loaded, and compared with the guard. */
async function findEdge(
  tx: Executor,
  head: Head,
  known: KnownHead | null,
  guard: ForkGuard,
): Promise<Pick<KnownHead, "edge" | "places">> {
  const signed = { logId: head.id, size: head.size, rootHex: hexEncode(head.root) };
  guard.check(signed);
  const isCurrent =
    known?.log.id === head.id && known.edge.size === head.size && bytesEqual(known.edge.root, head.root);
  if (isCurrent) return known;
  const [edge] = await Promise.all([
    loadEdge(tx, head),
    requirePrefix(guard, signed, tileReader(tx, head.id)),
  ]);
  return { edge, places: createKnownPlaces() };
}

/** Locks the head: no other process appends until the transaction ends. */
export async function lockHead(
  tx: Executor,
  known: KnownHead | null,
  { keys, guard }: { keys: Pick<SigningKeys, "logSigner">; guard: ForkGuard },
): Promise<KnownHead> {
  const head = await lockOpenHead(tx);
  if (head.key_id !== keys.logSigner.keyId) throw new SigningKeyChanged();
  const [{ edge, places }, active] = await Promise.all([
    findEdge(tx, head, known, guard),
    readActiveKeyIds(tx),
  ]);
  const { id, origin, key_id } = head;
  return { log: { id, origin, key_id }, edge, places, active };
}
