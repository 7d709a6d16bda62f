/**
 * Start of the service's keys and log. In an empty database: make what is not given, open log 1. In any other:
 * the keys at hand must be the active ones, or the start stops with a message that says what to do. A second
 * instance with a folder of its own cannot invent keys, because emptiness is judged under the start lock.
 */

import { existsSync } from "node:fs";
import { link, open, readdir, readFile, rename, rm } from "node:fs/promises";
import path from "node:path";
import { eq, isNull } from "drizzle-orm";
import { type Database, type Executor, withStartLock } from "#lib/db/client";
import { CannotStart } from "#lib/db/migrations";
import { logs, signingKeys } from "#lib/db/schema";
import { makeFolder } from "#lib/make-folder";
import { zkKeyId, zkKeyPairFromSeed } from "#lib/protocol/presentation/disclosure";
import { makeVerifierKey, signCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { originOfLog } from "#lib/protocol/tlog/log-leaf";
import { emptyRoot } from "#lib/protocol/tlog/merkle";
import type { KeyWrapping } from "./key-wrapping";
import { activeKeyId, type KeyPurpose, type Signer, type Signers } from "./signing-keys";

/** The secret keys at hand: what settings give, else what files hold. */
export interface KeySource {
  load(wanted?: readonly KeyPurpose[]): Promise<Partial<Signers>>;
  loadNext(wanted?: readonly KeyPurpose[]): Promise<Partial<Signers>>;
  promoteNext(purpose: KeyPurpose): Promise<void>;
  create(missing: KeyPurpose[]): Promise<void>;
  /** Describes where a key is looked for, in messages: `SIGNING_KEY or ./data/keys/signing-key`. */
  describe(purpose: KeyPurpose): string;
}

const signerMembers = {
  attestation: "signer",
  log: "logSigner",
  zk: "zkSeed",
} as const satisfies Record<KeyPurpose, keyof Signers>;
const purposes: KeyPurpose[] = ["attestation", "log", "zk"];

function isComplete(found: Partial<Signers>): found is Signers {
  return purposes.every((purpose) => found[signerMembers[purpose]] !== undefined);
}

export interface PublicHalf {
  keyId: string;
  publicKey: Uint8Array;
}

export async function publicHalf(found: Partial<Signers>, purpose: KeyPurpose): Promise<PublicHalf | null> {
  if (purpose !== "zk") return found[signerMembers[purpose]] ?? null;
  if (found.zkSeed === undefined) return null;
  const { publicKey } = await zkKeyPairFromSeed(found.zkSeed);
  return { keyId: zkKeyId(publicKey), publicKey };
}

export async function insertLog(tx: Executor, id: number, origin: string, logSigner: Signer): Promise<void> {
  const logKey = makeVerifierKey(origin, 1, logSigner.publicKey);
  const empty = { origin, size: 0, root: emptyRoot() };
  const checkpoint = await signCheckpoint(empty, logKey, (bytes) => logSigner.sign(bytes));
  await tx
    .insert(logs)
    .values({ id, origin, key_id: logSigner.keyId, size: 0, root: emptyRoot(), checkpoint });
}

async function makeFirst(tx: Executor, source: KeySource, origin: string): Promise<Signers> {
  const found = await source.load();
  await source.create(purposes.filter((purpose) => found[signerMembers[purpose]] === undefined));
  const complete = await source.load();
  if (!isComplete(complete)) throw new Error("keys that were just made cannot be read back");
  await insertLog(tx, 1, origin, complete.logSigner);
  for (const purpose of purposes) {
    const half = await publicHalf(complete, purpose);
    if (half === null) throw new Error(`the ${purpose} key was just seen`);
    await tx.insert(signingKeys).values({
      key_id: half.keyId,
      purpose,
      public_key: half.publicKey,
      status: "active",
      log_id: 1,
      valid_from_index: purpose === "attestation" ? 0 : null,
    });
  }
  return complete;
}

const lastResort: Record<KeyPurpose, string> = {
  attestation: "`npm run keys -- rotate attestation --lost`",
  log: "`npm run log -- new-epoch --new-log-key`, because a log never changes its key",
  zk: "`npm run keys -- rotate zk`",
};

function mismatch(source: KeySource, purpose: KeyPurpose, problem: string): Error {
  return new Error(
    `Countersign cannot start: the ${purpose} key ${problem}. It is looked for in ${source.describe(purpose)}. ` +
      "Bring the key back that belongs to this database (from your backup of DATA_DIR, your settings, or the machine where it was rotated). " +
      `If it is really lost, its old signatures stay valid, but nothing new can be signed under it: go on with ${lastResort[purpose]}. ` +
      "New keys are made for an empty database only.",
  );
}

interface KeysAtHand {
  found: Partial<Signers>;
  active: Record<KeyPurpose, string | null>;
}

async function readActiveIds(executor: Executor): Promise<KeysAtHand["active"]> {
  const read = (purpose: KeyPurpose) => activeKeyId(executor, purpose);
  return { attestation: await read("attestation"), log: await read("log"), zk: await read("zk") };
}

/** Files and database of one moment: what was read while a rotation changed the active key is read again. */
async function readUnchanged(executor: Executor, source: KeySource) {
  for (;;) {
    const before = await readActiveIds(executor);
    // The next keys first: one that is put in place meanwhile is seen under its next name or its final one.
    const next = await source.loadNext();
    const found = await source.load();
    const active = await readActiveIds(executor);
    if (purposes.every((purpose) => before[purpose] === active[purpose])) return { next, found, active };
  }
}

/**
 * Replaces in `found` what a rotation has made active and not put in place (it was interrupted, or is just
 * doing it): the database says which key is active.
 */
export async function preferActive(executor: Executor, source: KeySource): Promise<KeysAtHand> {
  const { next, found, active } = await readUnchanged(executor, source);
  for (const purpose of purposes) {
    const half = await publicHalf(next, purpose);
    if (half === null || half.keyId !== active[purpose]) continue;
    await source.promoteNext(purpose);
    Object.assign(found, { [signerMembers[purpose]]: next[signerMembers[purpose]] });
  }
  return { found, active };
}

/** The keys at hand against the active ones; throws with what to do about a lost, foreign or changed key. */
async function requireActive(executor: Executor, source: KeySource): Promise<Signers> {
  const { found, active } = await preferActive(executor, source);
  for (const purpose of purposes) {
    const half = await publicHalf(found, purpose);
    if (half === null) throw mismatch(source, purpose, "is missing");
    if (half.keyId === active[purpose]) continue;
    const problem = `at hand (${half.keyId}) is not the active one of this database (${active[purpose]})`;
    throw mismatch(source, purpose, problem);
  }
  if (!isComplete(found)) throw new Error("unreachable: every key was just seen");
  return found;
}

/** The origin that log 1 was opened with: another PORT or address later does not change it. Null before. */
export async function readFirstOrigin(database: Database): Promise<string | null> {
  const [first] = await database.db.select({ origin: logs.origin }).from(logs).where(eq(logs.id, 1));
  return first?.origin ?? null;
}

export async function openSigners(
  database: Database,
  source: KeySource,
  firstOrigin: string,
): Promise<Signers> {
  return withStartLock(database, async (tx) => {
    const [open] = await tx.select().from(logs).where(isNull(logs.closed_at));
    if (!open) return makeFirst(tx, source, firstOrigin);
    requireOrigin(open, firstOrigin);
    return requireActive(tx, source);
  });
}

/** Throws if the settings name another log than the database holds. */
export function requireOrigin(open: { id: number; origin: string }, firstOrigin: string): void {
  const expected = originOfLog(firstOrigin, open.id);
  if (open.origin === expected) return;
  const setting = open.id === 1 ? open.origin : open.origin.slice(0, -`/${open.id}`.length);
  throw new CannotStart({
    says: `by LOG_ORIGIN this log is ${expected}, but this database's log is ${open.origin}`,
    mend: `Set LOG_ORIGIN=${setting}; an origin never changes within a log.`,
  });
}

export async function reloadSigners(database: Database, source: KeySource): Promise<Signers> {
  return requireActive(database.db, source);
}

/*
 * Secrets kept under DATA_DIR: files of mode 0600 in a folder of mode 0700, created exclusively, and wrapped by a key
 * management service if one is set.
 */

export interface SecretFiles {
  describe(name: string): string;
  read(name: string): Promise<string | null>;
  /** Throws EEXIST if there is one already. */
  create(name: string, text: string): Promise<void>;
  /** Moves `next` into the place of `name`; nothing happens if another process has done so. */
  replace(name: string, next: string): Promise<void>;
}

/** A next key is moved into its place as it is. */
const readPurpose = (name: string) => name.replace(/\.next$/, "");

async function readIfThere(file: string): Promise<string | null> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

async function writeDraft(draft: string, text: string): Promise<void> {
  const handle = await open(/* turbopackIgnore: true */ draft, "w", 0o600);
  try {
    await handle.writeFile(`${text}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

export function openSecretFiles(folder: string, wrapping: KeyWrapping): SecretFiles {
  const file = (name: string) => path.join(folder, name);
  return {
    describe: file,
    read: async (name) => {
      const text = await readIfThere(file(name));
      return text === null ? null : wrapping.open(text, readPurpose(name), file(name));
    },
    create: async (name, text) => {
      const sealed = await wrapping.seal(text, readPurpose(name));
      await makeFolder(folder, 0o700);
      // Whole or not at all, and never over another: a second process sees the finished file or none.
      const draft = file(`.${name}.${process.pid}`);
      await writeDraft(draft, sealed);
      await link(draft, file(name)).finally(() => rm(draft, { force: true }));
    },
    replace: async (name, next) => {
      await rename(file(next), file(name)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "ENOENT") throw error;
      });
    },
  };
}

/**
 * Wraps every secret of the folder in place that the wrapping key has not wrapped yet. Drafts that an end of the process
 * left behind may hold plain keys, and nothing reads them: they are removed.
 */
export async function wrapSecretFiles(
  folder: string,
  wrapping: KeyWrapping,
): Promise<{ seen: number; wrapped: string[]; removed: string[] }> {
  const all = existsSync(folder) ? await readdir(folder) : [];
  const wrapped: string[] = [];
  const removed = all.filter((name) => /^\..+\.\d+$/.test(name)).map((name) => path.join(folder, name));
  for (const draft of removed) await rm(draft, { force: true });
  const names = all.filter((name) => !name.startsWith("."));
  for (const name of names) {
    const file = path.join(folder, name);
    const sealed = await wrapping.rewrap((await readIfThere(file)) ?? "", readPurpose(name), file);
    if (sealed === null) continue;
    const draft = path.join(/* turbopackIgnore: true */ folder, `.${name}.${process.pid}`);
    await writeDraft(draft, sealed);
    await rename(draft, file);
    wrapped.push(file);
  }
  return { seen: names.length, wrapped, removed };
}
