/** Attestations of an organization per UTC day: its own limit, or the service's, or none. */
import type { ServiceSettings } from "#lib/api/http/context";

/** No limit, as the database has it: its largest integer, which no day reaches. */
const NO_DAILY_LIMIT = 2_147_483_647;

type DailySettings = Pick<ServiceSettings, "LIMIT_ATTEST_PER_DAY">;

export const serviceDailyLimit = ({ LIMIT_ATTEST_PER_DAY }: DailySettings): number =>
  LIMIT_ATTEST_PER_DAY ?? NO_DAILY_LIMIT;

/** As answers have it, so that a client's arithmetic goes on. */
export const shownDailyLimit = (limit: number): number =>
  limit >= NO_DAILY_LIMIT ? Number.MAX_SAFE_INTEGER : limit;
