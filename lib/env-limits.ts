/** The limits among the settings (.env.example). */
import { z } from "zod";

export function wholeNumber(least: number, most: number) {
  const says = `must be a whole number from ${least} to ${most}`;
  const isWithin = (value: number) => Number.isInteger(value) && value >= least && value <= most;
  return z.coerce.number(says).refine(isWithin, says);
}

const most = 10_000_000;
const limit = (value: number) => wholeNumber(1, most).default(value);
/** For all keys of an organization together; unset: `keysWorth` times the limit of one key. */
const ceiling = wholeNumber(1, most).optional();
const keysWorth = 5;

export const limitSettings = {
  LIMIT_ATTEST_PER_MINUTE: limit(100),
  LIMIT_ATTEST_PER_ORGANIZATION_PER_MINUTE: ceiling,
  LIMIT_ATTEST_PER_DAY: wholeNumber(1, most).optional(),
  LIMIT_VERIFY_PER_MINUTE: limit(1000),
  LIMIT_FEED_PER_MINUTE: limit(100),
  LIMIT_AUTHORIZE_PER_MINUTE: limit(60),
  LIMIT_AUTHORIZE_PER_ORGANIZATION_PER_MINUTE: ceiling,
  LIMIT_AUTHORIZE_PENDING: limit(50),
  LIMIT_AUTHORIZE_PENDING_PER_ORGANIZATION: ceiling,
  LIMIT_READ_AUTHORIZATION_PER_MINUTE: limit(1200),
  LIMIT_APPROVE_PER_MINUTE: limit(120),
  LIMIT_KEY_REQUEST_PER_ADDRESS_PER_HOUR: limit(5),
  LIMIT_KEY_REQUEST_PER_IP_PER_HOUR: limit(20),
  LIMIT_PUBLIC_READ_PER_MINUTE: limit(1000),
  LIMIT_KEYED_PER_MINUTE: limit(1000),
  LIMIT_KEYED_PER_ORGANIZATION_PER_MINUTE: ceiling,
  LIMIT_KEYS_PER_ORGANIZATION: limit(50),
  LIMIT_KEY_CHANGES_PER_DAY: limit(20),
  LIMIT_DEMO_PER_IP_PER_HOUR: limit(10),
  LIMIT_NOTICES_PER_ADDRESS_PER_HOUR: limit(20),
  LIMIT_NOTICES_PER_ORGANIZATION_PER_HOUR: limit(200),
  LIMIT_UNKNOWN_KEY_PER_MINUTE: limit(60),
};

type Limits = z.infer<z.ZodObject<typeof limitSettings>>;

const ceilings = {
  LIMIT_ATTEST_PER_ORGANIZATION_PER_MINUTE: "LIMIT_ATTEST_PER_MINUTE",
  LIMIT_AUTHORIZE_PER_ORGANIZATION_PER_MINUTE: "LIMIT_AUTHORIZE_PER_MINUTE",
  LIMIT_AUTHORIZE_PENDING_PER_ORGANIZATION: "LIMIT_AUTHORIZE_PENDING",
  LIMIT_KEYED_PER_ORGANIZATION_PER_MINUTE: "LIMIT_KEYED_PER_MINUTE",
} as const;
export type Ceilings = Record<keyof typeof ceilings, number>;

export function fillCeilings(settings: Limits): Ceilings {
  const filled = Object.entries(ceilings).map(([name, perKey]) => [
    name,
    settings[name as keyof Ceilings] ?? keysWorth * settings[perKey],
  ]);
  return Object.fromEntries(filled) as Ceilings;
}
