/**
 * One lock for all machines (docs/decisions/0046-one-lock-for-all-machines.md): the object `head-lock` in the store says which
 * head of the log is out, and which one is intended on top of it. Changed conditionally only, so every machine knows what any
 * machine signed.
 *
 *     {"origin":"example.com/log","turn":7,"writer":"9f2c…","out":{"logId":1,"size":40,"rootHex":"…"},"next":{…}}
 */
import { z } from "zod";
import type { ObjectStore } from "#lib/log/object-storage/object-store";
import type { Logger } from "#lib/logger";
import { bytesEqual, hexEncode, utf8Decode, utf8Encode } from "#lib/protocol/encoding/bytes";
import { describeHead, ForkGuardError, isHigher, type SignedHead } from "./fork-guard";

export const lockName = "head-lock";

const headSchema = z.object({
  logId: z.int().min(1),
  size: z.int().min(0),
  rootHex: z.string().regex(/^[0-9a-f]{64}$/),
});

const contentSchema = z.object({
  /** Origin of the first log: a store belongs to one service. */
  origin: z.string(),
  /** Incremented with each change, so that no content returns. */
  turn: z.int().min(1),
  /** Drawn by each process. */
  writer: z.string(),
  /** Has left, or is as good as out. */
  out: headSchema,
  /** Signed on top of `out`, and perhaps committed. */
  next: headSchema.nullable(),
});

type Content = z.infer<typeof contentSchema>;

interface Known {
  content: Content;
  tag: string;
}

export interface HeadLock {
  /** Throws unless the database may be at this head. The first one makes the lock. */
  require(head: SignedHead): Promise<void>;
  /** The same, but a head beyond what is intended was committed meanwhile. */
  requireSince(readHead: () => Promise<SignedHead>): Promise<void>;
  /** Called under the row's lock and before the commit: the database is at `held`, `next` is to follow. */
  intend(held: SignedHead, next: SignedHead): Promise<void>;
  /** Called after the commit, before anything leaves. `holds`: true if the database has both, as heads of one history. */
  confirm(head: SignedHead, holds: (heads: SignedHead[]) => Promise<boolean>): Promise<void>;
  readOut(): Promise<SignedHead | null>;
  /** An operator goes on in a new log, whatever the database holds. `out`: as it was read; it stays until `next` is out. */
  supersede(out: SignedHead | null, held: SignedHead, next: SignedHead): Promise<void>;
  close(): void;
}

/** The store has not answered: what it holds is unknown. */
export class HeadLockAway extends Error {}

const isSameHead = (a: SignedHead | null, b: SignedHead | null) =>
  a !== null && b !== null && a.logId === b.logId && a.size === b.size && a.rootHex === b.rootHex;

/** A database at the intended head has committed it; at the one below, it never will. */
const accepts = ({ out, next }: Content, head: SignedHead) => isSameHead(out, head) || isSameHead(next, head);

/** Rejects heads that were not intended under the lock before they were committed. */
const isBeyond = ({ out, next }: Content, head: SignedHead) => isHigher(head, next ?? out);

function refuse(content: Content, head: SignedHead): never {
  const { out, next } = content;
  const intended = next === null ? "" : `, or ${describeHead(next)} at most`;
  const because = isBeyond(content, head)
    ? "Servers have signed without this lock (then stop all, and give all of them one LOG_STORE, in an empty place)"
    : "The database is older than what was signed (a restored backup, or a standby that lost its last commits)";
  throw new ForkGuardError(
    `the database holds ${describeHead(head)}, but the store's lock says that ${describeHead(out)} has left${intended}. ${because}, or it has another history.`,
  );
}

function parseContent(bytes: Uint8Array, origin: string, place: string): Content {
  let content: Content;
  try {
    content = contentSchema.parse(JSON.parse(utf8Decode(bytes)));
  } catch {
    throw new ForkGuardError(`the lock in ${place} can't be read: it was changed by something else.`);
  }
  if (content.origin === origin) return content;
  throw new ForkGuardError(`the lock in ${place} is that of the log ${content.origin}.`);
}

/** More changes than this while one is made can't be meant. */
const maxAttempts = 5;
const retryMs = 1_000;

interface Options {
  store: ObjectStore;
  origin: string;
  random: (bytes: number) => Uint8Array;
  logger: Logger;
}

export function createHeadLock({ store, origin, random, logger }: Options): HeadLock {
  const writer = hexEncode(random(8));
  let known: Known | null = null;
  let wasSeen = false;
  /** Committed, and not yet noted: the store was away. */
  let unnoted: { timer: NodeJS.Timeout } | null = null;
  let turn: Promise<unknown> = Promise.resolve();

  /** Serializes work, so that what is known is what was done last. */
  function alone<T>(work: () => Promise<T>): Promise<T> {
    const done = turn.then(work, work);
    turn = done;
    return done;
  }

  async function ask<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (cause) {
      known = null;
      throw new HeadLockAway(`the store ${store.name} can't be asked for the head's lock`, { cause });
    }
  }

  async function load(): Promise<Known | null> {
    const found = await ask(store.read(lockName));
    if (found === null) {
      known = null;
      if (!wasSeen && (await ask(store.read("checkpoint"))) === null) return null;
      throw new ForkGuardError(
        `the lock "${lockName}" is missing in ${store.name}, which holds a log. Put it back, or choose an empty place.`,
      );
    }
    wasSeen = true;
    known = { content: parseContent(found.bytes, origin, store.name), tag: found.tag };
    return known;
  }

  /** False: somebody else has changed it. Rejects with HeadLockAway if that is unknown. */
  async function change(from: Known | null, out: SignedHead, next: SignedHead | null): Promise<boolean> {
    const content: Content = { origin, turn: (from?.content.turn ?? 0) + 1, writer, out, next };
    const bytes = utf8Encode(JSON.stringify(content));
    known = null;
    const failure = { cause: null as unknown };
    const tag = await store.replace(lockName, bytes, from?.tag ?? null).catch((error: unknown) => {
      failure.cause = error ?? new Error("no reason");
      return null;
    });
    if (tag !== null) known = { content, tag };
    else {
      // The client may have asked twice, and the second time found what the first had stored.
      const found = await ask(store.read(lockName));
      if (found !== null && bytesEqual(found.bytes, bytes)) known = { content, tag: found.tag };
      // The old tag means that it may be stored yet; another one, that it never will.
      else if (failure.cause !== null && found?.tag === from?.tag)
        throw new HeadLockAway(`the store ${store.name} did not change the head's lock`, failure);
    }
    if (known !== null) wasSeen = true;
    return known !== null;
  }

  async function attempt(work: (current: Known | null) => Promise<boolean>): Promise<void> {
    for (let left = maxAttempts; left > 0; left -= 1) if (await work(known ?? (await load()))) return;
    throw new HeadLockAway(`the head's lock in ${store.name} is changed all the time`);
  }

  /** A cached lock may be stale: if it rejects the head, reload it and judge again. */
  async function requireAccepted(current: Known | null, head: SignedHead): Promise<Known | null> {
    if (current === null || accepts(current.content, head)) return current;
    const fresh = await load();
    if (fresh !== null && !accepts(fresh.content, head)) refuse(fresh.content, head);
    return fresh;
  }

  const confirm: HeadLock["confirm"] = (head, holds) =>
    attempt(async (current) => {
      if (current !== null && isSameHead(current.content.next, head)) return change(current, head, null);
      // Others have gone on: from here, or in another history.
      const out = (await load())?.content.out ?? null;
      if (isSameHead(out, head)) return true;
      if (out !== null && isHigher(out, head) && (await holds([head, out]))) return true;
      throw new ForkGuardError(`${describeHead(head)} was committed, but the store's lock went another way.`);
    });

  function noteLater(head: SignedHead, holds: (heads: SignedHead[]) => Promise<boolean>): void {
    if (unnoted !== null) clearTimeout(unnoted.timer);
    const again = async () => {
      unnoted = null;
      await alone(() => confirm(head, holds)).catch((error: unknown) => {
        if (error instanceof HeadLockAway) noteLater(head, holds);
        else logger.error({ err: error }, "what was committed could not be noted in the head's lock");
      });
    };
    unnoted = { timer: setTimeout(again, retryMs) };
    unnoted.timer.unref();
  }

  const requireHead = (head: SignedHead) =>
    attempt(async () => {
      const current = await load();
      if (current === null) return change(null, head, null);
      return accepts(current.content, head) || refuse(current.content, head);
    });

  async function requireSince(readHead: () => Promise<SignedHead>): Promise<void> {
    const before = await load();
    const head = await readHead();
    if (before === null || accepts(before.content, head)) return;
    if (!isBeyond(before.content, head)) refuse(before.content, head);
    const after = await load();
    if (after !== null && isBeyond(after.content, head)) refuse(after.content, head);
  }

  const supersede = (out: SignedHead | null, held: SignedHead, next: SignedHead) =>
    attempt(async () => {
      const current = await load();
      const isAsRead = current === null ? out === null : isSameHead(current.content.out, out);
      if (!isAsRead) throw new ForkGuardError("another machine is signing.");
      return change(current, out ?? held, next);
    });

  return {
    require: (head) => alone(() => requireHead(head)),
    requireSince: (readHead) => alone(() => requireSince(readHead)),
    intend: (held, next) =>
      alone(() => attempt(async (current) => change(await requireAccepted(current, held), held, next))),
    confirm: (head, holds) =>
      alone(() => confirm(head, holds)).catch((error: unknown) => {
        if (error instanceof HeadLockAway) noteLater(head, holds);
        throw error;
      }),
    readOut: () => alone(async () => (await load())?.content.out ?? null),
    supersede: (out, held, next) => alone(() => supersede(out, held, next)),
    close: () => {
      if (unnoted !== null) clearTimeout(unnoted.timer);
      store.close();
    },
  };
}
