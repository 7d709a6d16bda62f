/** What happens once, each to a service of its own, before the kills. */
import { fullPool, lockedTables } from "./full-pool";
import type { Scenario } from "./scenario";
import { vanishedHost } from "./vanished-host";

export const scenarios: readonly Scenario[] = [vanishedHost, fullPool, lockedTables];
