/**
 *   npm run log -- check                            recompute every leaf, tile, root and record of the database's logs
 *   npm run log -- new-epoch [--new-log-key]        start a new log if the old one cannot be extended
 */
import { readCommandLine, UsageError, unexpectedWords } from "#lib/domain/command-words";
import { checkStoredRecords } from "#lib/log/check-records";
import { checkStoredLogs } from "#lib/log/history";
import { keyEventKind, makeKeyEvent } from "#lib/log/key-events";
import { beginEpoch } from "#lib/log/new-epoch";
import { readOpenHead } from "#lib/log/reader";
import { findKeySetting, keepNextKey, randomKeyText } from "#lib/signing/key-source";
import type { Signer } from "#lib/signing/signer";
import { runCommand, say } from "./shared/command-line";
import { type CommandContext, withCommandContext } from "./shared/open-service";

const usage = "usage: npm run log -- check | new-epoch [--new-log-key]";

async function check({ database }: CommandContext): Promise<number> {
  const logs = await checkStoredLogs(database.db, (origin, checked, size) => {
    if (process.stderr.isTTY) process.stderr.write(`\r${origin}: ${checked} of ${size} leaves`);
  });
  if (process.stderr.isTTY) process.stderr.write("\n");
  for (const { origin, size, check: verdict } of logs)
    say(`${origin}: ${size} leaves: ${verdict.ok ? "ok" : `FAILED: ${verdict.problem}`}`);
  const { agents, entries, problem } = await checkStoredRecords(database.db);
  say(`${agents} records: ${entries} entries: ${problem === null ? "ok" : `FAILED: ${problem}`}`);
  return logs.length > 0 && logs.every(({ check: verdict }) => verdict.ok) && problem === null ? 0 : 1;
}

/** A key that the old log did not have: from the settings if they give one, else created in a file. */
async function findNewLogKey(context: CommandContext): Promise<Signer> {
  const { key_id } = await readOpenHead(context.database.db);
  const setting = findKeySetting(context.env, "log");
  if (setting === null && context.found.logSigner?.keyId !== key_id && context.found.logSigner)
    return context.found.logSigner;
  if (setting === null) await keepNextKey(context.files, "log", randomKeyText()).catch(ignoreExisting);
  const { logSigner } = setting === null ? await context.source.loadNext() : context.found;
  if (!logSigner || logSigner.keyId === key_id)
    throw new Error(`${setting} still has the old log's key. Set it to the new one and run this again.`);
  return logSigner;
}

/** An attempt that was interrupted has made one. */
function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}

async function newEpoch(context: CommandContext, withNewKey: boolean): Promise<number> {
  const { signer } = context.found;
  const logSigner = withNewKey ? await findNewLogKey(context) : context.found.logSigner;
  const { key_id } = await readOpenHead(context.database.db);
  if (!signer) throw new Error(`The attestation key is missing (${context.source.describe("attestation")}).`);
  if (!logSigner || (!withNewKey && logSigner.keyId !== key_id))
    throw new Error(
      `The log's key ${key_id} is not available (${context.source.describe("log")}). If it is lost, add --new-log-key.`,
    );
  const { origin, previous, held } = await beginEpoch(context, { signer, logSigner });
  if (withNewKey) {
    await context.source.promoteNext("log");
    const made = makeKeyEvent(signer, context.clock(), {
      event: "made",
      purpose: "log",
      subject: logSigner,
    });
    await context.openSequencer(logSigner).submit(keyEventKind, made);
  }
  say(`The new log is ${origin}. Its first leaf names the last checkpoint that was signed before:`);
  say(
    `log ${previous.logId}, size ${previous.size}, root ${previous.rootHex}; the database holds log ${held.logId} at size ${held.size}.`,
  );
  return 0;
}

runCommand(usage, async (argv) => {
  const { words, flags } = readCommandLine(argv, { flags: ["new-log-key"] });
  const [name, ...rest] = words;
  if (rest.length > 0) throw unexpectedWords(rest, 0);
  if (name === "check" && flags.size === 0) return withCommandContext(check);
  if (name === "new-epoch")
    return withCommandContext((context) => newEpoch(context, flags.has("new-log-key")));
  throw new UsageError(`check or new-epoch is expected, not ${argv.join(" ") || "nothing"}`);
});
