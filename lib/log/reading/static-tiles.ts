/**
 * The exported tree at LOG_TILES_URL, another URL prefix of the same logs (c2sp.org/tlog-tiles, Parameters). Full tiles and
 * bundles that its checkpoint covers are redirected there: they never change, so storage or a CDN can answer them. Nobody
 * waits for that address: what it holds is read beside requests, and while it is unknown they are answered here.
 */

import type { Logger } from "#lib/logger";
import { readTextAtMost } from "#lib/protocol/encoding/read-stream";
import { type VerifierKey, verifyCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { pathOfLog } from "#lib/protocol/tlog/log-leaf";
import { encodeTilePath, parseTilePath, TILE_WIDTH, treeHasTile } from "#lib/protocol/tlog/tiles";

const lifetimeMs = 60_000;
const timeoutMs = 5_000;
const maxNoteBytes = 64 * 1024;

export interface StaticTiles {
  /** Where the file lies; null if this service must answer. `path` from `tile/` on. */
  addressOf(logId: number, path: string): string | null;
}

interface Settings {
  url: string | undefined;
  clock: () => Date;
  logger: Logger;
  findKey(logId: number): Promise<VerifierKey>;
}

interface Known {
  size: number;
  atMs: number;
}

export function createStaticTiles({ url, clock, logger, findKey }: Settings): StaticTiles {
  const logs = new Map<number, Known>();
  const buildPrefix = (logId: number) =>
    `${url?.replace(/\/+$/, "")}${pathOfLog(logId).slice("/log".length)}`;

  async function readSize(logId: number): Promise<number> {
    const response = await fetch(`${buildPrefix(logId)}/checkpoint`, {
      signal: AbortSignal.timeout(timeoutMs),
    });
    const note = response.ok ? await readTextAtMost(response, maxNoteBytes) : null;
    const verdict = verifyCheckpoint(note ?? "", await findKey(logId));
    if (!verdict.ok) throw new Error(`no checkpoint of log ${logId} is there (HTTP ${response.status})`);
    return verdict.checkpoint.size;
  }

  async function refresh(logId: number): Promise<void> {
    try {
      logs.set(logId, { size: await readSize(logId), atMs: clock().getTime() });
    } catch (error) {
      logs.set(logId, { size: 0, atMs: clock().getTime() });
      logger.warn({ err: error }, "LOG_TILES_URL has no readable tree; tiles are answered here");
    }
  }

  return {
    addressOf: (logId, path) => {
      const tile = url === undefined ? undefined : parseTilePath(path);
      if (tile === undefined || tile.width !== TILE_WIDTH) return null;
      const nowMs = clock().getTime();
      const known = logs.get(logId) ?? { size: 0, atMs: Number.NEGATIVE_INFINITY };
      if (nowMs - known.atMs > lifetimeMs) {
        logs.set(logId, { ...known, atMs: nowMs });
        void refresh(logId);
      }
      return treeHasTile(tile, known.size) ? `${buildPrefix(logId)}/${encodeTilePath(tile)}` : null;
    },
  };
}
