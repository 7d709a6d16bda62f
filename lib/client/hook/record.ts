/**
 * Calls that nobody is asked about are attested after they ran. Each is a file first, numbered and whole, so that none is
 * lost with the process or while the service is away; then as many as there are go to it in one batch, in their order.
 */

import { ApiError, ConnectionError, CountersignError } from "#lib/client/api/errors";
import { asSent, signAgentRequest } from "#lib/client/api/inputs";
import { type Service, send } from "#lib/client/api/transport";
import type { AttestBatchAnswer, AttestRequest } from "#lib/client/api/wire";
import { type ClientIo, readText } from "#lib/client/cli/io";
import { canonicalHash, isJsonObject } from "#lib/protocol/encoding/canonical-json";

export interface Spool {
  io: ClientIo;
  folder: string;
  /** Records that may wait. */
  room: number;
}

export interface Sending {
  service: Service;
  agentKey: string | undefined;
  signal: AbortSignal;
}

const forOneself = { file: 0o600, folder: 0o700 };
const maxWaiting = 10_000;
const [maxEntries, maxBytes] = [100, 900_000];
/** A service that did not answer is left alone by the next calls. */
const awayMs = 30_000;
/** A process number can be another process's after a while. */
const longestLockMs = 10 * 60_000;
const maxTries = 100;

/** Opens the spool of an agent and a service, whatever the key: a number follows the one before. */
export const openSpool = (io: ClientIo, baseUrl: string, agent: string): Spool => ({
  io,
  room: maxWaiting,
  folder: `${io.machine.home}/.countersign/records/${canonicalHash([baseUrl, agent.toLowerCase()]).slice(0, 32)}`,
});

const findShownFile = ({ folder }: Spool, number: number) =>
  `${folder}/${String(number).padStart(10, "0")}.json`;
const inFolder = (
  { folder }: Spool,
  name: "sent" | "lost" | "instance" | "batch" | "lock" | "away" | "refused",
) => `${folder}/${name}`;

async function readIfThere({ io }: Spool, file: string): Promise<string | null> {
  return (await io.isFile(file)) ? readText(io, file).catch(() => null) : null;
}

const readSent = async (spool: Spool) => Number((await readIfThere(spool, inFolder(spool, "sent"))) ?? 0);

async function listNumbers({ io, folder }: Spool): Promise<number[]> {
  const names = await io.machine.listNames(folder);
  return names
    .filter((name) => /^\d{10}\.json$/.test(name))
    .map((name) => Number(name.slice(0, 10)))
    .sort((a, b) => a - b);
}

/**
 * Numbers are given here, not when they are sent: a file that somebody removes meanwhile leaves a gap. False if there is
 * no room, which leaves one too.
 */
export async function keepRecord(spool: Spool, record: AttestRequest): Promise<boolean> {
  const { machine } = spool.io;
  const text = JSON.stringify(record);
  const lostFile = inFolder(spool, "lost");
  for (let tries = 0; tries < maxTries; tries += 1) {
    // The sender writes what it has sent before it removes files: read in the other order, no number is given twice.
    const waiting = await listNumbers(spool);
    const sent = await readSent(spool);
    if (waiting.length >= spool.room) {
      await machine.append(lostFile, ".", forOneself);
      return false;
    }
    const lost = (await readIfThere(spool, lostFile))?.length ?? 0;
    const number = Math.max(sent, waiting.at(-1) ?? 0) + 1 + lost;
    if (!(await machine.createWhole(findShownFile(spool, number), text, forOneself))) continue;
    // Skips a number whose record another process made and sent in between.
    if (number > (await readSent(spool))) {
      if (lost > 0) await machine.remove(lostFile);
      return true;
    }
    await machine.remove(findShownFile(spool, number));
  }
  throw new CountersignError(`no number is free in ${spool.folder}`);
}

export interface Sent {
  sent: number;
  /** Refusals of the records themselves, in the service's words: they are kept in the file `refused`. */
  refused: string[];
  problem: Error | null;
}

/** Sends what waits, unless another process does. Whatever fails, the rest stays for the next time. */
export async function sendRecords(spool: Spool, sending: Sending): Promise<Sent> {
  const result: Sent = { sent: 0, refused: [], problem: null };
  if (await isAway(spool, sending)) return result;
  // Again if something came between the last batch and the end of the lock.
  while ((await countWaiting(spool)) > 0 && (await lock(spool)))
    try {
      for (let batch = await nextBatch(spool); batch !== null; batch = await nextBatch(spool))
        await sendBatch(spool, sending, batch, result);
    } catch (error) {
      result.problem = error instanceof Error ? error : new Error(String(error));
      const why = isPassing(result.problem) ? null : result.problem.message;
      const away: Away = { since: sending.service.now().getTime(), why };
      await spool.io.machine.writeFile(inFolder(spool, "away"), JSON.stringify(away), forOneself);
      return result;
    } finally {
      await unlock(spool);
    }
  return result;
}

export async function countWaiting(spool: Spool): Promise<number> {
  const sent = await readSent(spool);
  return (await listNumbers(spool)).filter((number) => number > sent).length;
}

/** Time since which nothing could be sent, and the reason, if somebody has to act on it. */
interface Away {
  since: number;
  why: string | null;
}

/** Ends by itself: nobody has to act. */
const isPassing = (error: Error) =>
  error instanceof ConnectionError ||
  error.name === "TimeoutError" ||
  (error instanceof ApiError && error.retryable);

async function readAway(spool: Spool): Promise<Away | null> {
  const text = await readIfThere(spool, inFolder(spool, "away"));
  return text === null ? null : (JSON.parse(text) as Away);
}

async function isAway(spool: Spool, { service }: Sending): Promise<boolean> {
  const away = await readAway(spool);
  if (away === null) return false;
  const age = service.now().getTime() - away.since;
  return age >= 0 && age < awayMs;
}

/** Message for the agent's user; null while all is well. */
export async function readTrouble(spool: Spool): Promise<string | null> {
  const away = await readAway(spool);
  if (away === null || away.why === null) return null;
  const waiting = await countWaiting(spool);
  return `Countersign: ${waiting} ${waiting === 1 ? "call isn't" : "calls aren't"} recorded yet: ${away.why}`;
}

const locked = new Set<string>();

/** False if somebody else who runs has it. */
async function lock(spool: Spool): Promise<boolean> {
  if (locked.has(spool.folder)) return false;
  locked.add(spool.folder);
  const { machine } = spool.io;
  const file = inFolder(spool, "lock");
  const own = `${machine.host} ${machine.processId}`;
  if (await machine.createWhole(file, own, forOneself)) return true;
  const holder = (await readIfThere(spool, file)) ?? "";
  const [, host, processId] = /^(.*) (\d+)$/.exec(holder) ?? [];
  const ageMs = (await machine.listFiles(spool.folder)).find(({ name }) => name === "lock")?.ageMs ?? 0;
  const mayRun = host !== machine.host || (holder !== own && machine.isRunning(Number(processId)));
  if (holder !== "" && (!mayRun || ageMs > longestLockMs)) await machine.remove(file);
  if (await machine.createWhole(file, own, forOneself)) return true;
  locked.delete(spool.folder);
  return false;
}

async function unlock(spool: Spool): Promise<void> {
  await spool.io.machine.remove(inFolder(spool, "lock"));
  locked.delete(spool.folder);
}

interface Batch {
  last: number;
  key: string;
  attestations: AttestRequest[];
}

/** Written down before it is sent: after a kill the same bytes go under the same key, and nothing is recorded twice. */
async function nextBatch(spool: Spool): Promise<Batch | null> {
  const { io } = spool;
  const sent = await readSent(spool);
  const begun = JSON.parse((await readIfThere(spool, inFolder(spool, "batch"))) ?? "null") as Batch | null;
  if (begun !== null && begun.last > sent) return begun;
  const numbers = await listNumbers(spool);
  for (const number of numbers) if (number <= sent) await io.machine.remove(findShownFile(spool, number));
  const waiting = numbers.filter((number) => number > sent).slice(0, maxEntries);
  const instance = await readInstance(spool);
  const batch: Batch = { last: sent, key: "", attestations: [] };
  let bytes = 0;
  for (const sequence of waiting) {
    const text = await readText(io, findShownFile(spool, sequence));
    bytes += text.length;
    if (bytes > maxBytes && batch.attestations.length > 0) break;
    batch.last = sequence;
    batch.attestations.push({ ...(JSON.parse(text) as AttestRequest), client: { instance, sequence } });
  }
  if (batch.attestations.length === 0) return null;
  batch.key = `records-${canonicalHash([instance, batch.last, JSON.stringify(batch.attestations)])}`;
  await io.machine.writeFile(inFolder(spool, "batch"), JSON.stringify(batch), forOneself);
  return batch;
}

async function readInstance(spool: Spool): Promise<string> {
  const file = inFolder(spool, "instance");
  const fresh = `hook-${spool.io.machine.randomHex(8)}`;
  await spool.io.machine.createWhole(file, fresh, forOneself);
  return readText(spool.io, file);
}

async function sendBatch(spool: Spool, { service, agentKey, signal }: Sending, batch: Batch, result: Sent) {
  const { machine } = spool.io;
  const attestations =
    agentKey === undefined
      ? asSent(batch.attestations)
      : await Promise.all(batch.attestations.map((one) => signAgentRequest(one, agentKey)));
  const { results } = await send<AttestBatchAnswer>(service, {
    method: "POST",
    path: "/v1/attest/batch",
    body: { attestations, all_or_nothing: false },
    idempotencyKey: batch.key,
    signal,
    tries: 1,
  });
  const errors = results.map(({ status, body }) =>
    status === 201 ? null : new ApiError(status, isJsonObject(body) ? body : null, null),
  );
  // Recorded ones get their first answer under the same key. A key without the right can be given it.
  const unfinished = errors.find(
    (error) => error?.retryable || error?.status === 401 || error?.status === 403,
  );
  if (unfinished) throw unfinished;
  if (results.length !== attestations.length) throw new ConnectionError("the answer is of another batch", {});
  for (const [i, error] of errors.entries()) {
    if (error === null) continue;
    result.refused.push(error.message);
    const line = JSON.stringify({ why: error.message, ...attestations[i] });
    const file = inFolder(spool, "refused");
    if (((await readIfThere(spool, file)) ?? "").length < maxBytes)
      await machine.append(file, `${line}\n`, forOneself);
  }
  await machine.writeFile(inFolder(spool, "sent"), String(batch.last), forOneself);
  await machine.remove(inFolder(spool, "batch"));
  await machine.remove(inFolder(spool, "away"));
  await machine.writeFile(inFolder(spool, "lock"), `${machine.host} ${machine.processId}`, forOneself);
  for (const number of await listNumbers(spool))
    if (number <= batch.last) await machine.remove(findShownFile(spool, number));
  result.sent += errors.filter((error) => error === null).length;
}
