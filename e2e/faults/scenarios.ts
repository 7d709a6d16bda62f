/** Scenarios that run once, each on a service of its own, before the kills. */
import { fullDisk } from "./full-disk";
import { fullPool, lockedTables } from "./full-pool";
import { movedClock } from "./moved-clock";
import { receiversAway } from "./receivers-away";
import { lostCommits, oldBackup } from "./restore";
import type { Scenario } from "./scenario";
import { slowDatabase, stoppedAnswer } from "./slow-database";
import { storeFails } from "./store-fails";
import { vanishedHost } from "./vanished-host";
import { worldAway } from "./world-away";

export const scenarios: readonly Scenario[] = [
  vanishedHost,
  fullPool,
  lockedTables,
  slowDatabase,
  stoppedAnswer,
  worldAway,
  receiversAway,
  fullDisk,
  movedClock,
  storeFails,
  oldBackup,
  lostCommits,
];
