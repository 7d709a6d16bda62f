/**
 * The public list of logs that run side by side, in the shape of Certificate Transparency's log list (version 3), whose
 * `tiled_logs` have four fields more: `number`, `origin`, `vkey` and `attestation_keys`. Each service with a database of its own
 * has a number from 1 to 255, which is the last byte of the attestation ids that it makes.
 */
import { isJsonObject, type JsonObject } from "#lib/protocol/encoding/canonical-json";

export const LOG_LIST_FILE = "log-list.json";
export const LOG_LIST_SIGNATURE_FILE = "log-list.sig";
export const MAX_LOG_NUMBER = 255;

export interface ListedLog {
  number: number;
  /** Base URL of the service, without a trailing slash. */
  base: string;
  origin: string;
  /** The entry as it is in the list. */
  entry: JsonObject;
}

function readEntry(entry: unknown): ListedLog {
  const { number, submission_url: url, origin } = isJsonObject(entry) ? entry : {};
  const isNumber = Number.isInteger(number) && Number(number) >= 1 && Number(number) <= MAX_LOG_NUMBER;
  if (!isNumber || typeof origin !== "string" || typeof url !== "string" || !/^https?:\/\//.test(url))
    throw new RangeError("an entry of the log list is malformed");
  return { number: Number(number), base: url.replace(/\/+$/, ""), origin, entry: entry as JsonObject };
}

/** Throws RangeError for what is no list of these logs. */
export function parseLogList(list: unknown): ListedLog[] {
  const operators = isJsonObject(list) ? list["operators"] : null;
  if (!Array.isArray(operators)) throw new RangeError("not a log list");
  return operators
    .flatMap((operator) => (isJsonObject(operator) ? operator["tiled_logs"] : null))
    .map(readEntry);
}

/** The random bytes of an attestation id (lib/protocol/encoding/ids.ts) with the number of the service that makes it. */
export function numberedRandom(random: Uint8Array, number: number | null): Uint8Array {
  return number === null ? random : random.map((byte, at) => (at === 15 ? number : byte));
}

/** The base of the service that the id names; null if it is `own`, or no service of the list. */
export function baseOfId(logs: readonly ListedLog[], own: number, id: string): string | null {
  const number = Number.parseInt(id.slice(-2), 16);
  return number === own ? null : (logs.find((log) => log.number === number)?.base ?? null);
}
