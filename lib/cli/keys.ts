/**
 *   npm run keys -- list
 *   npm run keys -- rotate attestation|zk [--new-key-file FILE] [--lost]
 *   npm run keys -- revoke attestation|zk KEY_ID [--from-index N] [--new-key-file FILE]
 *
 * With the embedded database the service must be stopped; with PostgreSQL it may run, and takes the new key from
 * the files when it meets the change.
 */
import { readFile } from "node:fs/promises";
import { runCommand, say } from "#lib/http/command-line";
import { type CommandRoom, withCommandRoom } from "#lib/http/command-room";
import { type KeyCommand, parseKeyArguments } from "#lib/http/key-arguments";
import { findKeySetting, keepNextKey, parseKeyText, randomKeyText } from "#lib/http/key-source";
import { requireOwnHistory } from "#lib/services/log-history";
import {
  type KeyChange,
  type KeyRoom,
  type RotatedPurpose,
  replaceActiveKey,
  revokeRetiredKey,
} from "#lib/services/rotate-keys";
import { activeKeyId, readAllKeys, type Signers } from "#lib/services/signing-keys";

const usage = `usage: npm run keys -- list
       npm run keys -- rotate attestation|zk [--new-key-file FILE] [--lost]
       npm run keys -- revoke attestation|zk KEY_ID [--from-index N] [--new-key-file FILE]`;

/** Where keys come from the settings, the new one must too: it is given as a file, and nothing is written. */
async function findNextKey(
  room: CommandRoom,
  purpose: RotatedPurpose,
  file: string | undefined,
): Promise<Partial<Signers>> {
  const setting = findKeySetting(room.env, purpose);
  if (setting !== null) {
    if (file === undefined) {
      throw new Error(
        `The ${purpose} key comes from ${setting}, so nothing is made here. Make the new one (\`openssl rand -base64 32 > new-key\`), ` +
          `run this again with --new-key-file new-key, then set ${setting} to it and restart every process.`,
      );
    }
    return parseKeyText(purpose, await readFile(file, "utf8"), file);
  }
  const text = file === undefined ? randomKeyText() : (await readFile(file, "utf8")).trim();
  parseKeyText(purpose, text, file ?? "the new key");
  await keepNextKey(room.files, purpose, text).catch((error: NodeJS.ErrnoException) => {
    // An attempt that was interrupted has made one; it is as good as another.
    if (error.code !== "EEXIST" || file !== undefined) throw error;
  });
  return room.source.loadNext();
}

async function openKeyRoom(room: CommandRoom): Promise<KeyRoom> {
  const { database, source, clock, found, guard } = room;
  await requireOwnHistory(database.db, guard);
  if (!found.logSigner) throw new Error(`The log's key is missing (${source.describe("log")}).`);
  return { database, source, clock, log: room.openSequencer(found.logSigner) };
}

function tell(
  purpose: RotatedPurpose,
  event: string,
  { keyId, successorKeyId, index }: KeyChange,
  room: CommandRoom,
): number {
  say(`The ${purpose} key ${keyId} is ${event}, by leaf ${index} of the log.`);
  if (successorKeyId === null) return 0;
  say(`The active one is ${successorKeyId} now.`);
  const setting = findKeySetting(room.env, purpose);
  if (setting !== null) say(`Set ${setting} to it and restart every process: until then they answer 503.`);
  return 0;
}

async function list({ database }: CommandRoom): Promise<number> {
  for (const key of await readAllKeys(database.db)) {
    const range =
      key.from === null ? "" : ` for indexes ${key.from} to ${key.to === null ? "now" : key.to - 1}`;
    say(`${key.purpose} ${key.keyId} ${key.status}${range} of ${key.logOrigin}`);
  }
  return 0;
}

async function rotate(room: CommandRoom, command: KeyCommand & { name: "rotate" }): Promise<number> {
  const { purpose, file, isLost } = command;
  const keyRoom = await openKeyRoom(room);
  const next = await findNextKey(room, purpose, file);
  const change = await replaceActiveKey(keyRoom, { purpose, event: "retired", next, isLost });
  return tell(purpose, "retired", change, room);
}

async function revoke(room: CommandRoom, command: KeyCommand & { name: "revoke" }): Promise<number> {
  const { purpose, keyId, file, fromIndex } = command;
  const keyRoom = await openKeyRoom(room);
  if (keyId === (await activeKeyId(room.database.db, purpose))) {
    const next = await findNextKey(room, purpose, file);
    const replacement = { purpose, event: "revoked", next, isLost: false } as const;
    const change = await replaceActiveKey(keyRoom, {
      ...replacement,
      ...(fromIndex !== undefined && { fromIndex }),
    });
    return tell(purpose, "revoked", change, room);
  }
  if (fromIndex === undefined && purpose === "attestation")
    throw new Error(
      "A key that is retired already needs --from-index: the first log index at which it is not to be trusted.",
    );
  return tell(purpose, "revoked", await revokeRetiredKey(keyRoom, purpose, keyId, fromIndex), room);
}

runCommand(usage, async (argv) => {
  const command = parseKeyArguments(argv);
  return withCommandRoom((room) => {
    if (command.name === "rotate") return rotate(room, command);
    return command.name === "revoke" ? revoke(room, command) : list(room);
  });
});
