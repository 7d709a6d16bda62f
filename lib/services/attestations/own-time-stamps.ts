/**
 * Time stamps of our own log, checked once: a stamp that held is remembered under the SHA-256 of all that was read.
 * Which certificates are pinned is a setting, so it is the same for as long as this process lives.
 */
import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { type TimeStampVerdict, verifyTimeStamp } from "#lib/protocol/time/time-stamp";

const held = new LRUCache<string, TimeStampVerdict>({ max: 1_000 });

export const rememberTimeStamps: typeof verifyTimeStamp = async (response, message, pinned) => {
  const digest = createHash("sha256")
    .update(createHash("sha256").update(response).digest())
    .update(message)
    .digest("base64");
  const known = held.get(digest);
  if (known !== undefined) return known;
  const verdict = await verifyTimeStamp(response, message, pinned);
  if (verdict.ok) held.set(digest, verdict);
  return verdict;
};
