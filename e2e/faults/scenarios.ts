/** Scenarios that run once, each on a service of its own, before the kills; other faults have tests of their own. */
import { fullPool, lockedTables } from "./full-pool";
import type { Scenario } from "./scenario";
import { slowDatabase, stoppedAnswer } from "./slow-database";

export const scenarios: readonly Scenario[] = [fullPool, lockedTables, slowDatabase, stoppedAnswer];
