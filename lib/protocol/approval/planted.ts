/**
 * Planted requests (docs/decisions/0054): requests with one fact made wrong, which a group should catch. A schedule commits
 * to them by salted hashes before the first is shown, and each is opened afterwards with what became of it. Both are
 * statements of the service's own: whoever knows the organization's id finds all of them in the log, nobody else learns
 * whose they are, and what wasn't opened in time counts as missed.
 *
 *     organization = hex SHA-256("countersign planted v1\\n" || organization id)
 */
import { bytesEqual, hexEncode, isUuid, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { canonicalHash, hasFields, isHash, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { isSalt } from "#lib/protocol/passkey/roster";
import {
  buildStatement,
  PLANTED_REQUESTS_PREDICATE,
  parseStatement,
} from "#lib/protocol/statement/statement";
import { formatCount } from "#lib/protocol/text/display-text";
import { dayMs, isTime } from "#lib/protocol/time/time-words";
import {
  type Amount,
  amountUnits,
  amountValue,
  amountValuePattern,
  formatAmount,
  padDecimals,
  writeUnits,
} from "./amount";
import { findPayeeName } from "./detail-names";

export const plantedFacts = ["payee", "amount", "agent"] as const;
export type PlantedFact = (typeof plantedFacts)[number];

/**
 * `corrected`: the approver changed the wrong fact; `changed`: only others. `withdrawn`: never shown, or
 * erased while it waited, with what it was made from.
 */
export const plantedOutcomes = [
  "denied",
  "corrected",
  "approved",
  "changed",
  "expired",
  "withdrawn",
] as const;
export type PlantedOutcome = (typeof plantedOutcomes)[number];

export const isCaught = (outcome: PlantedOutcome | null): boolean =>
  outcome === "denied" || outcome === "corrected";

export type PlantedEntry = {
  request_id: string;
  /** Time at which it is to be shown, ISO 8601. */
  at: string;
  fact: PlantedFact;
  /** base64 of 16 random bytes */
  salt: string;
};

export type PlantedSchedule = {
  version: 1;
  organization: string;
  group: string;
  from: string;
  /** Time by which each is opened. */
  until: string;
  /** {@link plantedHash} of each entry, in order. */
  entries: string[];
};

export type PlantedOpening = {
  version: 1;
  /** {@link plantedHash} of the schedule. */
  schedule: string;
  entry: PlantedEntry;
  /** Hash of the request that was shown; null if none was. */
  request_hash: string | null;
  outcome: PlantedOutcome;
  ended_at: string;
};

/** Hex SHA-256 of the canonical entry, schedule or opening. */
export const plantedHash = (document: PlantedEntry | PlantedSchedule | PlantedOpening): string =>
  canonicalHash({ ...document } as JsonObject);

const isId = (value: unknown): boolean => typeof value === "string" && isUuid(value);
const isOneOf = (known: readonly unknown[], value: unknown) => known.includes(value);

function isEntry(value: unknown): value is PlantedEntry {
  if (!hasFields(value, "request_id", "at", "fact", "salt")) return false;
  const { request_id, at, fact, salt } = value;
  return typeof request_id === "string" && isTime(at) && isOneOf(plantedFacts, fact) && isSalt(salt);
}

function isPlantedSchedule(value: unknown): value is PlantedSchedule {
  if (!hasFields(value, "version", "organization", "group", "from", "until", "entries")) return false;
  const { version, organization, group, from, until, entries } = value;
  if (version !== 1 || !isId(organization) || !isId(group) || !isTime(from) || !isTime(until)) return false;
  return (
    from < until &&
    Array.isArray(entries) &&
    entries.length > 0 &&
    entries.every((hash, i) => isHash(hash) && (i === 0 || String(entries[i - 1]) < hash))
  );
}

function isPlantedOpening(value: unknown): value is PlantedOpening {
  if (!hasFields(value, "version", "schedule", "entry", "request_hash", "outcome", "ended_at")) return false;
  const { version, schedule, entry, request_hash, outcome, ended_at } = value;
  return (
    version === 1 &&
    isHash(schedule) &&
    isEntry(entry) &&
    (isHash(request_hash) || (request_hash === null && outcome === "withdrawn")) &&
    isOneOf(plantedOutcomes, outcome) &&
    isTime(ended_at)
  );
}

/* Statements that log a schedule and its openings. */

export type PlantedStatement = {
  /** Hex SHA-256 of the canonical schedule or opening. */
  digest: string;
  /** {@link plantedOrganization}. */
  organization: string;
  key_id: string;
  /** Time at which it was logged, ISO 8601. */
  at: string;
} & ({ kind: "schedule"; until: string } | { kind: "opening"; schedule: string });

export const plantedOrganization = (organizationId: string): string =>
  hexEncode(sha256(utf8Encode(`countersign planted v1\n${organizationId}`)));

export const buildPlantedStatement = ({ digest, ...predicate }: PlantedStatement): Uint8Array =>
  buildStatement(PLANTED_REQUESTS_PREDICATE, "planted-requests", digest, predicate);

/** Null for any other statement. */
export function parsePlantedStatement(bytes: Uint8Array): PlantedStatement | null {
  const statement = parseStatement(bytes, PLANTED_REQUESTS_PREDICATE);
  if (statement === null) return null;
  const { predicate, digest } = statement;
  const { kind, organization, key_id, at, until, schedule } = predicate;
  if (!isHash(digest) || !isHash(organization) || !isTime(at) || typeof key_id !== "string") return null;
  const shared = { digest, organization, key_id, at };
  const read: PlantedStatement | null =
    kind === "schedule" && isTime(until)
      ? { ...shared, kind, until }
      : kind === "opening" && isHash(schedule)
        ? { ...shared, kind, schedule }
        : null;
  return read !== null && bytesEqual(buildPlantedStatement(read), bytes) ? read : null;
}

/* `planted.json` of an evidence pack, and what it says. */

export interface PackedPlanted {
  version: 1;
  organization: string;
  schedules: { name: string; schedule: PlantedSchedule; openings: PlantedOpening[] }[];
}

export function isPackedPlanted(value: unknown): value is PackedPlanted {
  if (!hasFields(value, "version", "organization", "schedules")) return false;
  const { version, organization, schedules } = value;
  const isOne = (one: unknown) =>
    hasFields(one, "name", "schedule", "openings") &&
    typeof one["name"] === "string" &&
    isPlantedSchedule(one["schedule"]) &&
    one["schedule"].organization === organization &&
    Array.isArray(one["openings"]) &&
    one["openings"].every(isPlantedOpening);
  return version === 1 && isId(organization) && Array.isArray(schedules) && schedules.every(isOne);
}

/**
 * Returns why these documents aren't all that the log has of the schedules that end in the period; null if they are. `logged`:
 * the service's own statements, in the order of the log. `used`: hashes of requests that an approval or attestation is of, each
 * with its organization, so that nobody shows another one's. `counted`: when the signed counts of the pack were made; of a
 * period that ends later than all that the pack knows, what had not ended yet isn't missing.
 */
export function findPlantedFault(
  { organization, schedules }: PackedPlanted,
  logged: readonly PlantedStatement[],
  { from, to, counted = [] }: { from: string; to: string; counted?: readonly string[] },
  used: ReadonlyMap<string, string>,
): string | null {
  if (used.size > 0 && ![...used.values()].includes(organization))
    return "they are of another organization than the approvals";
  const own = logged.filter((one) => one.organization === plantedOrganization(organization));
  const hashes = schedules.map(({ schedule }) => plantedHash(schedule));
  const isWanted = (until: string) => until > from && until <= to;
  const known = [...counted, ...logged.map(({ at }) => at)];
  const isMissing = ({ digest, until }: PlantedStatement & { kind: "schedule" }) =>
    isWanted(until) && known.some((at) => at >= until) && !hashes.includes(digest);
  const absent = own.find((one) => one.kind === "schedule" && isMissing(one));
  if (absent !== undefined) return `the schedule ${absent.digest} is missing`;
  if (new Set(hashes).size < hashes.length) return "a schedule is there twice";
  for (const [index, { schedule, openings }] of schedules.entries()) {
    const hash = hashes[index] ?? "";
    const place = own.findIndex(({ kind, digest }) => kind === "schedule" && digest === hash);
    const statement = own[place];
    if (statement?.kind !== "schedule" || statement.until !== schedule.until || statement.at > schedule.from)
      return `the log doesn't have the schedule ${hash} before it begins`;
    if (!isWanted(schedule.until)) return `the schedule ${hash} doesn't end in the period`;
    const opened = own.flatMap((one, at) =>
      one.kind === "opening" && one.schedule === hash ? [{ digest: one.digest, at }] : [],
    );
    const shown = openings.map(plantedHash);
    if (opened.some(({ digest }) => !shown.includes(digest))) return `an opening of ${hash} is missing`;
    const entries = openings.map(({ entry }) => plantedHash(entry));
    if (new Set(entries).size < entries.length) return `an entry of ${hash} is opened twice`;
    for (const [i, { entry, request_hash, ended_at, schedule: named }] of openings.entries()) {
      const found = opened.find(({ digest }) => digest === shown[i]);
      if (named !== hash || found === undefined || found.at < place)
        return `the log doesn't have an opening of ${hash} after it`;
      if (!schedule.entries.includes(entries[i] ?? ""))
        return `an opening is of nothing that ${hash} commits to`;
      if (entry.at < schedule.from || entry.at > schedule.until || ended_at < entry.at)
        return `an opening of ${hash} is of another time`;
      if (request_hash !== null && used.has(request_hash)) return "a planted request was approved";
    }
  }
  return null;
}

export interface PlantedCount {
  name: string;
  planted: number;
  caught: number;
  /** Number not opened in time. */
  unopened: number;
}

/** Counts by group. An opening whose first statement is later than its schedule's end is none. */
export function countPlanted(
  { organization, schedules }: PackedPlanted,
  logged: readonly PlantedStatement[],
): PlantedCount[] {
  const own = plantedOrganization(organization);
  const opened = logged.flatMap((one) =>
    one.organization === own && one.kind === "opening"
      ? [[`${one.schedule} ${one.digest}`, one.at] as const]
      : [],
  );
  const times = new Map(opened.reverse());
  const counts = new Map<string, PlantedCount>();
  for (const { name, schedule, openings } of schedules) {
    const count = counts.get(schedule.group) ?? { name, planted: 0, caught: 0, unopened: 0 };
    const timely = openings.filter(
      (one) => (times.get(`${one.schedule} ${plantedHash(one)}`) ?? "~") <= schedule.until,
    );
    counts.set(schedule.group, {
      name,
      planted: count.planted + schedule.entries.length,
      caught: count.caught + timely.filter(({ outcome }) => isCaught(outcome)).length,
      unopened: count.unopened + schedule.entries.length - timely.length,
    });
  }
  return [...counts.values()];
}

export const describePlantedCount = ({ name, planted, caught }: PlantedCount): string =>
  `${name} caught ${caught} of ${formatCount(planted, "planted request")}`;

/* Real request with one fact made wrong. */

export interface Plantable {
  agent_slug: string;
  action: string;
  amount?: Amount | null | undefined;
  context: Record<string, string>;
}

export interface Mistake {
  right: string;
  wrong: string;
}

/** A number from 0 on, below 1. */
export type Share = () => number;

const escapeText = (text: string) => text.replaceAll(/[$()*+.?[\\\]^{|}]/g, "\\$&");

/** Whole occurrences alone. */
function replaceWhole(text: string, { right, wrong }: Mistake): string {
  const whole = new RegExp(`(?<![\\p{L}\\p{N}])${escapeText(right)}(?![\\p{L}\\p{N}])`, "gu");
  return text.replaceAll(whole, () => wrong);
}

const areOfOneKind = (one: string, other: string) =>
  [/\p{Ll}/u, /\p{Lu}/u, /\p{Nd}/u].some((kind) => kind.test(one) && kind.test(other));

/** Two neighbours change places, as in the name or number of somebody else; null if there are no two. */
function misspell(text: string, share: Share): string | null {
  const characters = [...text];
  const places = characters.flatMap((one, i) => {
    const next = characters[i + 1];
    return i > 0 && next !== undefined && one !== next && areOfOneKind(one, next) ? [i] : [];
  });
  const place = places[Math.floor(share() * places.length)];
  if (place === undefined) return null;
  const [one = "", next = ""] = characters.slice(place, place + 2);
  return characters.toSpliced(place, 2, next, one).join("");
}

/** Null if it would be more than an amount can be. */
function multiplyByTen({ value, currency }: Amount): Amount | null {
  const units = amountUnits(value) * 10n;
  if (units === 0n || !amountValuePattern.test(writeUnits(units))) return null;
  return { value: amountValue(units), currency };
}

type Made<Real> = { wrong: Real; mistake: Mistake } | null;

function mistakePayee<Real extends Plantable>(real: Real, share: Share): Made<Real> {
  const name = findPayeeName(real.context);
  const right = name === null ? undefined : real.context[name];
  const misspelt = right === undefined ? null : misspell(right, share);
  if (right === undefined || misspelt === null) return null;
  const mistake = { right, wrong: misspelt };
  const context = Object.entries(real.context).map(([key, text]) => [key, text === right ? misspelt : text]);
  const action = replaceWhole(real.action, mistake);
  return { wrong: { ...real, action, context: Object.fromEntries(context) }, mistake };
}

/** Changes the amount and the words and details that repeat it: in its canonical form, with all decimals, and in threes. */
function mistakeAmount<Real extends Plantable>(real: Real): Made<Real> {
  const { amount } = real;
  const more = amount && multiplyByTen(amount);
  if (!amount || !more) return null;
  const write = (one: Amount) => [one.value, padDecimals(one), formatAmount(one).slice(0, -4)];
  const [forms, others] = [write(amount), write(more)];
  const context = Object.entries(real.context).map(([key, text]) => [
    key,
    others[forms.indexOf(text)] ?? text,
  ]);
  const { currency } = amount;
  const action = forms.reduce((text, form, i) => {
    const after = replaceWhole(text, { right: `${form} ${currency}`, wrong: `${others[i]} ${currency}` });
    return replaceWhole(after, { right: `${currency} ${form}`, wrong: `${currency} ${others[i]}` });
  }, real.action);
  return {
    wrong: { ...real, amount: more, action, context: Object.fromEntries(context) },
    mistake: { right: formatAmount(amount), wrong: formatAmount(more) },
  };
}

function mistakeAgent<Real extends Plantable>(real: Real, share: Share): Made<Real> {
  const slug = misspell(real.agent_slug, share);
  if (slug === null) return null;
  const mistake = { right: real.agent_slug, wrong: slug };
  return { wrong: { ...real, agent_slug: slug, action: replaceWhole(real.action, mistake) }, mistake };
}

/** Null if the real request has no such fact. */
export function makeMistake<Real extends Plantable>(real: Real, fact: PlantedFact, share: Share): Made<Real> {
  if (fact === "payee") return mistakePayee(real, share);
  return fact === "amount" ? mistakeAmount(real) : mistakeAgent(real, share);
}

const weekMs = 7 * dayMs;
const jitterMs = 30 * 60_000;

/**
 * Draws a time at the weekday and hour of one of the real requests, so that no hour gives it away. `past`: not empty; all in
 * ms.
 */
export function drawTime(
  past: readonly number[],
  { from, to }: { from: number; to: number },
  share: Share,
): number {
  const like = past[Math.floor(share() * past.length)] ?? from;
  const first = like + Math.ceil((from - like) / weekMs) * weekMs;
  const weeks = Math.max(1, Math.ceil((to - first) / weekMs));
  const drawn = first + Math.floor(share() * weeks) * weekMs + Math.round((share() * 2 - 1) * jitterMs);
  return Math.min(Math.max(drawn, from), to);
}

/** Words for the page, once it has ended. */
export function explainMistake(fact: PlantedFact, mistake: Mistake | null): string {
  const [right, wrong] = mistake === null ? [null, null] : [mistake.right, mistake.wrong];
  if (fact === "agent")
    return right === null
      ? "The agent was unknown."
      : `No agent is called ${wrong}: the real one is ${right}.`;
  if (fact === "amount")
    return right === null
      ? "The amount was ten times too high."
      : `The amount was ${wrong}: the real request had ${right}.`;
  return right === null ? "The payee was wrong." : `The payee was ${wrong}: the real request had ${right}.`;
}
