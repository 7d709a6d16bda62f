/**
 *   npm run log -- check                            every leaf, tile and root of the database's logs again
 *   npm run log -- new-epoch [--new-log-key]        go on in a new log where the old one cannot be extended
 */
import { readCommandLine, UsageError, unexpectedWords } from "#lib/domain/command-words";
import { runCommand, say } from "#lib/http/command-line";
import { type CommandRoom, withCommandRoom } from "#lib/http/command-room";
import { findKeySetting, keepNextKey, randomKeyText } from "#lib/http/key-source";
import type { Signer } from "#lib/providers/signer";
import { keyEventKind, signKeyEvent } from "#lib/services/key-events";
import { checkStoredLogs } from "#lib/services/log-history";
import { readOpenHead } from "#lib/services/log-reader";
import { beginEpoch } from "#lib/services/new-epoch";

const usage = "usage: npm run log -- check | new-epoch [--new-log-key]";

async function check({ database }: CommandRoom): Promise<number> {
  const logs = await checkStoredLogs(database.db, (origin, checked, size) => {
    if (process.stderr.isTTY) process.stderr.write(`\r${origin}: ${checked} of ${size} leaves`);
  });
  if (process.stderr.isTTY) process.stderr.write("\n");
  for (const { origin, size, check: verdict } of logs)
    say(`${origin}: ${size} leaves: ${verdict.ok ? "ok" : `FAILED: ${verdict.problem}`}`);
  return logs.length > 0 && logs.every(({ check: verdict }) => verdict.ok) ? 0 : 1;
}

/** A key that the old log did not have: from the settings where they give one, else made in a file. */
async function findNewLogKey(room: CommandRoom): Promise<Signer> {
  const { key_id } = await readOpenHead(room.database.db);
  const setting = findKeySetting(room.env, "log");
  if (setting === null && room.found.logSigner?.keyId !== key_id && room.found.logSigner)
    return room.found.logSigner;
  if (setting === null) await keepNextKey(room.files, "log", randomKeyText()).catch(ignoreExisting);
  const { logSigner } = setting === null ? await room.source.loadNext() : room.found;
  if (!logSigner || logSigner.keyId === key_id)
    throw new Error(`${setting} still holds the old log's key: set it to the new one and run this again.`);
  return logSigner;
}

/** An attempt that was interrupted has made one. */
function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}

async function newEpoch(room: CommandRoom, withNewKey: boolean): Promise<number> {
  const { signer } = room.found;
  const logSigner = withNewKey ? await findNewLogKey(room) : room.found.logSigner;
  const { key_id } = await readOpenHead(room.database.db);
  if (!signer) throw new Error(`The attestation key is missing (${room.source.describe("attestation")}).`);
  if (!logSigner || (!withNewKey && logSigner.keyId !== key_id))
    throw new Error(
      `The log's key ${key_id} is not at hand (${room.source.describe("log")}). If it is lost, add --new-log-key.`,
    );
  const { origin, previous, held } = await beginEpoch(room, { signer, logSigner });
  if (withNewKey) {
    await room.source.promoteNext("log");
    const made = await signKeyEvent(signer, room.clock(), {
      event: "made",
      purpose: "log",
      subject: logSigner,
    });
    await room.openSequencer(logSigner).submit(keyEventKind, made);
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
  if (name === "check" && flags.size === 0) return withCommandRoom(check);
  if (name === "new-epoch") return withCommandRoom((room) => newEpoch(room, flags.has("new-log-key")));
  throw new UsageError(`check or new-epoch is expected, not ${argv.join(" ") || "nothing"}`);
});
