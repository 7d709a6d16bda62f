/** Context of the log. */
import type { Certificate } from "#lib/core/encoding/certificate";
import type { HttpContext } from "#lib/http/context";
import type { SigningKeys } from "#lib/signing/signing-keys";
import type { LogList } from "./publish/log-list";
import type { OldEntries } from "./publish/old-entries";
import type { StaticTiles } from "./publish/static-tiles";
import type { ForkGuard } from "./sequencer/fork-guard";
import type { HeadLock } from "./sequencer/head-lock";
import type { LogSequencer } from "./sequencer/sequencer";
import type { ObjectStore } from "./store/object-store";
import type { NotBeforeSource } from "./time/not-before";

export interface LogContext extends HttpContext {
  keys: SigningKeys;
  log: LogSequencer;
  guard: ForkGuard;
  /** Lock shared by all machines; null without a store. */
  lock: HeadLock | null;
  notBefore: NotBeforeSource;
  staticTiles: StaticTiles;
  /** Where the log is published; null without one. */
  store: ObjectStore | null;
  /** Entries that are in the store and no longer in the database; null without one. */
  oldEntries: OldEntries | null;
  /** List of logs side by side; null if this is the only one. */
  logList: LogList | null;
  /** Whose time stamps count. */
  timeAuthorities: readonly Certificate[];
}
