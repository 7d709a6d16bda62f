/** The log's own history, judged at start and by `npm run log -- check`. */

import type { Executor } from "#lib/db/client";
import { loadEdge } from "#lib/log/sequencer/append";
import { type KnownHeads, requirePrefix } from "#lib/log/sequencer/fork-guard";
import type { HeadLock } from "#lib/log/sequencer/head-lock";
import { readLogs } from "#lib/log/signing/log-keys";
import { hexEncode } from "#lib/protocol/encoding/bytes";
import { verifyCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { checkLog, type LogCheck } from "#lib/verifier/checks/check-log";
import type { OldEntries } from "./old-entries";
import { readEntries, readOpenHead, tileReader } from "./reader";

/** Throws if the database's log is not the one that this machine, or any that shares the lock, has signed, or its tiles do not hold it. */
export async function requireOwnHistory(
  executor: Executor,
  guard: KnownHeads,
  lock: Pick<HeadLock, "require"> | null,
): Promise<void> {
  const head = await readOpenHead(executor);
  const signed = { logId: head.id, size: head.size, rootHex: hexEncode(head.root) };
  guard.check(signed);
  await lock?.require(signed);
  await requirePrefix(guard, signed, tileReader(executor, head.id));
  await loadEdge(executor, head);
}

/** The head is no outsider's business, so a fault here has no reason code. */
type StoredVerdict = LogCheck | { ok: false; problem: string };

export interface StoredLogCheck {
  logId: number;
  origin: string;
  size: number;
  check: StoredVerdict;
}

/** Everything again from the entries alone: leaf hashes, tiles, root, and the newest checkpoint's signature. */
export async function checkStoredLogs(
  executor: Executor,
  old: OldEntries | null,
  onProgress: (origin: string, checkedLeaves: number, size: number) => void = () => {},
): Promise<StoredLogCheck[]> {
  const results: StoredLogCheck[] = [];
  for (const { id, origin, size, root, checkpoint, key } of await readLogs(executor)) {
    const signed = verifyCheckpoint(checkpoint, key);
    const isOfHead =
      signed.ok && signed.checkpoint.size === size && hexEncode(signed.checkpoint.root) === hexEncode(root);
    const check: StoredVerdict = isOfHead
      ? await checkLog(
          size,
          tileReader(executor, id),
          (bundle, width) => readEntries(executor, old, id, bundle * 256, width),
          { root, onProgress: (checked) => onProgress(origin, checked, size) },
        )
      : { ok: false, problem: signed.ok ? "the checkpoint is not that of the head" : signed.problem };
    results.push({ logId: id, origin, size, check });
  }
  return results;
}
