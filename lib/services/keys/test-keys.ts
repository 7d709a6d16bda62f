/** Which keys are test keys: those whose text begins with `cs_test_`. What they make is shown as a test. */
import { type SQL, sql } from "drizzle-orm";
import { apiKeys } from "#lib/db/schema";
import { testPrefix } from "./api-key-text";

export const isTestKey: SQL<boolean> = sql<boolean>`starts_with(${apiKeys.prefix}, ${testPrefix})`;
