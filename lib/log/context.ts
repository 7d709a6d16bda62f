/** What the log adds to the context. */
import type { Certificate } from "#lib/core/encoding/certificate";
import type { DoorContext } from "#lib/http/context";
import type { SigningKeys } from "#lib/signing/signing-keys";
import type { LogList } from "./publish/log-list";
import type { StaticTiles } from "./publish/static-tiles";
import type { ForkGuard } from "./sequencer/fork-guard";
import type { LogSequencer } from "./sequencer/sequencer";
import type { NotBeforeSource } from "./time/not-before";

export interface LogContext extends DoorContext {
  keys: SigningKeys;
  log: LogSequencer;
  guard: ForkGuard;
  notBefore: NotBeforeSource;
  staticTiles: StaticTiles;
  /** Of logs side by side; null if this is the only one. */
  logList: LogList | null;
  /** Whose time stamps count. */
  timeAuthorities: readonly Certificate[];
}
