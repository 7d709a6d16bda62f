import type { HttpContext } from "#lib/api/http/context";
import type { WorkerPool } from "#lib/jobs/zk-worker-pool";
import type { ObjectStore } from "#lib/log/object-storage/object-store";
import type { StaticTiles } from "#lib/log/reading/export-tiles";
import type { LogList } from "#lib/log/reading/log-list";
import type { OldEntries } from "#lib/log/reading/reader";
import type { ForkGuard } from "#lib/log/sequencer/fork-guard";
import type { HeadLock } from "#lib/log/sequencer/head-lock";
import type { LogSequencer } from "#lib/log/sequencer/sequencer";
import type * as logWorker from "#lib/log/signing/log-worker";
import type { SigningKeys } from "#lib/log/signing/signing-keys";
import type { NotBeforeSource } from "#lib/log/time/time-stamps";
import type { Certificate } from "#lib/protocol/encoding/certificate";

export interface LogContext extends HttpContext {
  keys: SigningKeys;
  log: LogSequencer;
  guard: ForkGuard;
  /** Lock shared by all machines; null without a store. */
  lock: HeadLock | null;
  notBefore: NotBeforeSource;
  staticTiles: StaticTiles;
  /** Thread for jobs of a few milliseconds. */
  logPool: WorkerPool<typeof logWorker>;
  store: ObjectStore | null;
  /** Entries that are in the store and no longer in the database; null without one. */
  oldEntries: OldEntries | null;
  /** List of logs side by side; null if this is the only one. */
  logList: LogList | null;
  timeAuthorities: readonly Certificate[];
}
