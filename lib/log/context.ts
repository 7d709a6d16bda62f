/** What the log adds to the context. */
import type { Certificate } from "#lib/domain/certificate";
import type { DoorContext } from "#lib/door/context";
import type { SigningKeys } from "#lib/signing/signing-keys";
import type { ForkGuard } from "./fork-guard";
import type { LogList } from "./log-list";
import type { NotBeforeSource } from "./not-before";
import type { LogSequencer } from "./sequencer";
import type { StaticTiles } from "./static-tiles";

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
