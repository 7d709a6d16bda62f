/**
 *   npm run log -- check                            recompute every leaf, tile, root, record and snapshot of the logs, and their sum
 *   npm run log -- snapshot                         sign the heads of all agents' records into the log
 *   npm run log -- new-epoch [--new-log-key | --anyway | --restored]   start a new log if the old one cannot be extended
 *   npm run log -- export-tiles [STORE] [--repair | --new-only]   write the logs as static files, or what is new of them
 *   npm run log -- compact [--older-than DAYS]      drop old entries here that LOG_STORE has, byte by byte
 *   npm run log -- list FOLDER --key-file FILE URL...   sign the list of the services that run side by side
 */
import "#lib/platform/node-wasm";
import { readFile } from "node:fs/promises";
import { resolveGiven, runCommand, say } from "#lib/cli/shared/command-line";
import {
  type CommandContext,
  describeRevived,
  describeUnknown,
  readHeldAt,
  withCommandContext,
} from "#lib/cli/shared/open-service";
import type { Executor } from "#lib/db/client";
import { findListeners } from "#lib/db/pubsub";
import { keyEventKind, makeKeyEvent } from "#lib/log/keys/key-events";
import { beginEpoch } from "#lib/log/keys/new-epoch";
import { openFolderStore, openStore } from "#lib/log/object-storage/object-store";
import { compactLogs, createOldEntries } from "#lib/log/reading/compact";
import { type ExistingFiles, exportTiles } from "#lib/log/reading/export-tiles";
import { checkStoredLogs, requireOwnHistory } from "#lib/log/reading/history";
import { makeLogList } from "#lib/log/reading/log-list";
import { readOpenHead } from "#lib/log/reading/reader";
import { makeSnapshot } from "#lib/log/records/agent-heads";
import { checkStoredRecords, checkStoredSnapshots, checkSum } from "#lib/log/records/record-snapshot";
import { reloadSigners } from "#lib/log/signing/first-keys";
import { findKeySetting, keepNextKey, randomKeyText } from "#lib/log/signing/key-source";
import { createLocalSigner, type Signer } from "#lib/log/signing/signing-keys";
import { logger } from "#lib/logger";
import { encodePublicKeyPem } from "#lib/protocol/keys/ed25519";
import { mergeHeads } from "#lib/protocol/record/agent-heads";
import { readCommandLine, single, UsageError, unexpectedWords } from "#lib/protocol/text/command-words";
import { formatCount } from "#lib/protocol/text/display-text";
import { TILE_WIDTH } from "#lib/protocol/tlog/tiles";
import { createRandom } from "#lib/server/secrets";
import { countUnknownApprovals, findUnknownApprovals } from "#lib/services/approvals/decision/revoke";

const usage =
  "usage: npm run log -- check | snapshot | new-epoch [--new-log-key | --anyway | --restored] |\n                         export-tiles [STORE] [--repair | --new-only] | compact [--older-than DAYS] |\n                         list FOLDER --key-file FILE URL...";

async function check({ database, store }: CommandContext): Promise<number> {
  const old = store === null ? null : createOldEntries(store);
  const logs = await checkStoredLogs(database.db, old, (origin, checked, size) => {
    if (process.stderr.isTTY)
      process.stderr.write(
        `\r${origin}: ${checked.toLocaleString("en")} of ${formatCount(size, "leaf", "leaves")}`,
      );
  });
  if (process.stderr.isTTY) process.stderr.write("\n");
  for (const { origin, size, check: verdict } of logs)
    say(
      `${origin}: ${formatCount(size, "leaf", "leaves")}: ${verdict.ok ? "ok" : `FAILED: ${verdict.problem}`}`,
    );
  const { agents, entries, problem } = await checkStoredRecords(database.db);
  say(
    `${formatCount(agents, "record")}: ${formatCount(entries, "entry", "entries")}: ${problem === null ? "ok" : `FAILED: ${problem}`}`,
  );
  const { snapshots, problem: unfit } = await checkStoredSnapshots(database.db);
  say(`${formatCount(snapshots, "snapshot")}: ${unfit === null ? "ok" : `FAILED: ${unfit}`}`);
  const { leaves, statements, problem: unrecorded, ...counted } = await checkSum(database.db);
  say(
    `${formatCount(leaves, "leaf", "leaves")}, ${counted.entries.toLocaleString("en")} of them in records, ${formatCount(statements, "statement")}: ${unrecorded === null ? "ok" : `FAILED: ${unrecorded}`}`,
  );
  const isWhole = logs.length > 0 && logs.every(({ check: verdict }) => verdict.ok);
  return isWhole && [problem, unfit, unrecorded].every((found) => found === null) ? 0 : 1;
}

async function snapshot(context: CommandContext): Promise<number> {
  const { database, source, clock, guard, lock } = context;
  await requireOwnHistory(database.db, guard, lock);
  const { signer, logSigner } = await reloadSigners(database, source);
  const keys = {
    signer,
    reload: async () => {
      keys.signer = (await reloadSigners(database, source)).signer;
    },
  };
  const merge = async (before: Uint8Array, given: Uint8Array) => mergeHeads(before, given);
  const log = context.openSequencer(logSigner);
  const { coversSize, agents, index } = await makeSnapshot({ database, clock, logger, keys, log, merge });
  say(`Leaf ${index}: the heads of all records (${agents}) at size ${coversSize}.`);
  return 0;
}

/** A key that the old log did not have: from the settings if they give one, else created in a file. */
async function findNewLogKey(context: CommandContext): Promise<Signer> {
  const { key_id } = await readOpenHead(context.database.db);
  const setting = findKeySetting(context.env, "log");
  if (setting === null && context.found.logSigner?.keyId !== key_id && context.found.logSigner)
    return context.found.logSigner;
  if (setting === null) await keepNextKey(context.files, "log", randomKeyText());
  const { logSigner } = setting === null ? await context.source.loadNext() : context.found;
  if (!logSigner || logSigner.keyId === key_id)
    throw new Error(`${setting} still has the old log's key. Set it to the new one and run this again.`);
  return logSigner;
}

const isWholeHere = ({ database, guard, lock }: CommandContext) =>
  requireOwnHistory(database.db, guard, lock).then(
    () => true,
    () => false,
  );

interface EpochFlags {
  withNewKey: boolean;
  isAnyway: boolean;
  isRestored: boolean;
}

/** A second new log by mistake can't be taken back, nor one that names an older head than another machine has signed. */
async function requireNeed(
  { database, lock }: CommandContext,
  isWhole: boolean,
  { withNewKey, isRestored }: EpochFlags,
): Promise<void> {
  if (isWhole && withNewKey) return;
  if (isWhole && !isRestored)
    throw new Error(
      "The log can be continued, so no new one is begun. If the database is an older copy, add --restored: approvals that may have been used since are ended. If you want a new log nevertheless, add --anyway.",
    );
  const addresses = lock === null ? await findListeners(database) : [];
  if (addresses.length > 0)
    throw new Error(
      `Servers are connected to this database from ${addresses.join(", ")}, and without LOG_STORE each machine knows only what it has signed itself. Stop them all and bring their fork guards together (docs/several-instances.md, When the primary dies). If those connections are left over from machines that are gone, add --anyway.`,
    );
}

async function findEpochKeys(context: CommandContext, withNewKey: boolean) {
  const { signer } = context.found;
  if (!signer) throw new Error(`The attestation key is missing (${context.source.describe("attestation")}).`);
  const logSigner = withNewKey ? await findNewLogKey(context) : context.found.logSigner;
  const { key_id } = await readOpenHead(context.database.db);
  if (!logSigner || (!withNewKey && logSigner.keyId !== key_id))
    throw new Error(
      `The log's key ${key_id} is not available (${context.source.describe("log")}). If it is lost, add --new-log-key.`,
    );
  return { signer, logSigner };
}

async function newEpoch(context: CommandContext, flags: EpochFlags): Promise<number> {
  const isWhole = await isWholeHere(context);
  if (!flags.isAnyway) await requireNeed(context, isWhole, flags);
  const keys = await findEpochKeys(context, flags.withNewKey);
  const { clock, database } = context;
  const unknown = await countUnknownApprovals(database.db);
  const isRestored = flags.isRestored || !isWhole;
  const random = createRandom();
  const findUnknown = (tx: Executor) => findUnknownApprovals({ clock, random, keys }, tx);
  const epoch = await beginEpoch(context, keys, { isRestored, findUnknown, random });
  const { origin, previous, held } = epoch;
  if (flags.withNewKey) {
    await context.source.promoteNext("log");
    const subject = keys.logSigner;
    const made = makeKeyEvent(keys.signer, clock(), { event: "made", purpose: "log", subject });
    await context.openSequencer(keys.logSigner).submit(keyEventKind, made);
  }
  say(`The new log is ${origin}. Its first leaf names the last checkpoint that was signed before:`);
  say(
    `log ${previous.logId}, size ${previous.size}, root ${previous.rootHex}; the database holds log ${held.logId} at size ${held.size}.`,
  );
  if (!epoch.isCut) return 0;
  say(
    `These may have been used, taken back or denied since, so they are ended: ${describeUnknown(unknown)}.`,
  );
  for (const line of await describeRevived(database.db, await readHeldAt(database.db, held.logId))) say(line);
  return 0;
}

async function exportTo(
  { database, env, store: own }: CommandContext,
  place: string | undefined,
  existing: ExistingFiles,
): Promise<number> {
  const isAddress = place === undefined || /^[a-z\d]{2,}:/i.test(place);
  const store = isAddress
    ? await openStore(place ?? env.LOG_STORE, env)
    : openFolderStore(resolveGiven(place));
  if (store === null)
    throw new UsageError("a folder, s3://bucket/prefix or file:/path is missing, here or in LOG_STORE");
  const old = own === null ? null : createOldEntries(own);
  const exported = await exportTiles({ db: database.db, old }, env.WITNESSES, store, existing);
  store.close();
  for (const { origin, from, size, files, repaired } of exported) {
    say(
      `${origin}: ${formatCount(size, "entry", "entries")}, ${(size - from).toLocaleString("en")} of them new; ${formatCount(files, "file")} written.`,
    );
    if (repaired > 0) say(`${origin}: ${formatCount(repaired, "wrong file")} repaired.`);
  }
  return 0;
}

async function compact({ database, store, clock }: CommandContext, days: number): Promise<number> {
  if (store === null) throw new UsageError("LOG_STORE is not set");
  const before = new Date(clock().getTime() - days * 86_400_000);
  for (const { origin, leaves, reached } of await compactLogs(database, store, before))
    say(
      reached === 0
        ? `${origin}: nothing to drop: no whole bundle of ${TILE_WIDTH} entries is old enough and published.`
        : `${origin}: ${formatCount(leaves, "entry", "entries")} dropped here; the store answers for those below ${reached.toLocaleString("en")}.`,
    );
  return 0;
}

const parseDays = (text: string | undefined) => {
  const days = text === undefined ? 30 : Number(text);
  if (text?.trim() === "" || !(Number.isFinite(days) && days >= 0))
    throw new UsageError("--older-than takes a number of days");
  return days;
};

async function list(folder: string, urls: readonly string[], keyFile: string): Promise<number> {
  const signer = createLocalSigner(await readFile(resolveGiven(keyFile), "utf8"), keyFile);
  const numbers = await makeLogList(resolveGiven(folder), urls, signer, () => new Date());
  for (const [number, base] of numbers) say(`${number}: ${base}`);
  say(
    `Set LOG_LIST=${folder} in each of them. The list is signed by the key\n${encodePublicKeyPem(signer.publicKey)}`,
  );
  return 0;
}

const flagsByCommand: Record<string, readonly string[]> = {
  "new-epoch": ["new-log-key", "anyway", "restored"],
  "export-tiles": ["repair", "new-only"],
};

runCommand(usage, async (argv) => {
  const line = readCommandLine(argv, {
    valued: ["key-file", "older-than"],
    flags: ["new-log-key", "anyway", "restored", "repair", "new-only"],
  });
  const { words, flags } = line;
  const [name, ...rest] = words;
  const keyFile = single(line, "key-file");
  const olderThan = single(line, "older-than");
  if (olderThan !== undefined && name !== "compact") throw new UsageError(`${name} takes no --older-than`);
  for (const flag of flags)
    if (flagsByCommand[name ?? ""]?.includes(flag) !== true)
      throw new UsageError(`${name} takes no --${flag}`);
  if (name === "list") {
    const [folder, ...urls] = rest;
    if (folder === undefined || keyFile === undefined)
      throw new UsageError("FOLDER or --key-file is missing");
    return list(folder, urls, keyFile);
  }
  if (keyFile !== undefined) throw new UsageError(`${name} takes no --key-file`);
  if (name === "export-tiles") {
    const [place, ...more] = rest;
    if (more.length > 0) throw unexpectedWords(rest, 1);
    if (place?.trim() === "") throw new UsageError("STORE is empty");
    if (flags.size > 1) throw new UsageError("--repair reads every file, --new-only none");
    const existing = flags.has("repair") ? "repair" : flags.has("new-only") ? "trust" : "check";
    return withCommandContext((context) => exportTo(context, place, existing));
  }
  if (rest.length > 0) throw unexpectedWords(rest, 0);
  if (name === "check") return withCommandContext(check);
  if (name === "compact") {
    const days = parseDays(olderThan);
    return withCommandContext((context) => compact(context, days));
  }
  if (name === "snapshot") return withCommandContext(snapshot);
  if (name === "new-epoch")
    return withCommandContext((context) =>
      newEpoch(context, {
        withNewKey: flags.has("new-log-key"),
        isAnyway: flags.has("anyway"),
        isRestored: flags.has("restored"),
      }),
    );
  throw new UsageError(
    `check, snapshot, new-epoch, export-tiles, compact or list is expected, not ${argv.join(" ") || "nothing"}`,
  );
});
