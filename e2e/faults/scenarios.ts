/** What happens once, each to a service of its own, before the kills. */
import { fullPool, lockedTables } from "./full-pool";
import { receiversAway } from "./receivers-away";
import { oldBackup } from "./restore";
import type { Scenario } from "./scenario";
import { slowDatabase, stoppedAnswer } from "./slow-database";
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
  oldBackup,
];
