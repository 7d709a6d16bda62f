/**
 *   npm run keys -- list
 *   npm run keys -- rotate attestation|zk [--new-key-file FILE] [--lost]
 *   npm run keys -- revoke attestation|zk KEY_ID [--from-index N [--log ORIGIN]] [--new-key-file FILE]
 *   npm run keys -- wrap
 *
 * With the embedded database the service must be stopped; with PostgreSQL it may run, and reads the new key from the
 * files when it notices the change.
 */
import "#lib/platform/node-wasm";
import { readFile } from "node:fs/promises";
import path from "node:path";
import {
  type KeyCommand,
  parseKeyArguments,
  resolveGiven,
  runCommand,
  say,
} from "#lib/cli/shared/command-line";
import { type CommandContext, withCommandContext } from "#lib/cli/shared/open-service";
import { readEnv } from "#lib/env";
import {
  findStart,
  type KeyChange,
  type KeyContext,
  type RotatedPurpose,
  replaceActiveKey,
  requireUnused,
  revokeRetiredKey,
} from "#lib/log/keys/key-events";
import { requireOwnHistory } from "#lib/log/reading/history";
import { wrapSecretFiles } from "#lib/log/signing/first-keys";
import {
  findKeySetting,
  keepNextKey,
  parseKeyText,
  randomKeyText,
  wrapKeySettings,
} from "#lib/log/signing/key-source";
import { createKeyWrapping } from "#lib/log/signing/key-wrapping";
import { activeKeyId, readAllKeys, type Signers } from "#lib/log/signing/signing-keys";

const usage = `usage: npm run keys -- list
       npm run keys -- rotate attestation|zk [--new-key-file FILE] [--lost]
       npm run keys -- revoke attestation|zk KEY_ID [--from-index N [--log ORIGIN]] [--new-key-file FILE]
       npm run keys -- wrap`;

/** Takes the new key from the settings if that is where keys come from: it is given as a file, and nothing is written. */
async function findNextKey(
  context: CommandContext,
  purpose: RotatedPurpose,
  file: string | undefined,
  event: "retired" | "revoked",
): Promise<Partial<Signers>> {
  const setting = findKeySetting(context.env, purpose);
  if (setting !== null) {
    if (file === undefined) {
      throw new Error(
        `The ${purpose} key comes from ${setting}, so no new key is generated here. Create one (\`openssl rand -base64 32 > new-key\`), ` +
          `run this again with --new-key-file new-key, then set ${setting} to it and restart every process.`,
      );
    }
    return parseKeyText(purpose, await readFile(resolveGiven(file), "utf8"), file);
  }
  const text = file === undefined ? randomKeyText() : (await readFile(resolveGiven(file), "utf8")).trim();
  const next = parseKeyText(purpose, text, file ?? "the new key");
  await requireUnused(context.database, purpose, next);
  await keepNextKey(context.files, purpose, text, file === undefined && event === "retired");
  return context.source.loadNext();
}

async function openKeyContext(context: CommandContext): Promise<KeyContext> {
  const { database, source, clock, found, guard, lock } = context;
  await requireOwnHistory(database.db, guard, lock);
  if (!found.logSigner) throw new Error(`The log's key is missing (${source.describe("log")}).`);
  return { database, source, clock, log: context.openSequencer(found.logSigner) };
}

function tell(
  purpose: RotatedPurpose,
  event: string,
  { keyId, successorKeyId, index }: KeyChange,
  context: CommandContext,
): number {
  say(`The ${purpose} key ${keyId} is ${event}, by leaf ${index} of the log.`);
  if (successorKeyId === null) return 0;
  say(`The active key is now ${successorKeyId}.`);
  const setting = findKeySetting(context.env, purpose);
  if (setting !== null) say(`Set ${setting} to it and restart every process. Until then they answer 503.`);
  return 0;
}

async function list({ database }: CommandContext): Promise<number> {
  for (const key of await readAllKeys(database.db)) {
    const range =
      key.from === null ? "" : ` for indexes ${key.from} to ${key.to === null ? "now" : key.to - 1}`;
    say(`${key.purpose} ${key.keyId} ${key.status}${range} of ${key.logOrigin}`);
  }
  return 0;
}

async function rotate(context: CommandContext, command: KeyCommand & { name: "rotate" }): Promise<number> {
  const { purpose, file, isLost } = command;
  const keyContext = await openKeyContext(context);
  const next = await findNextKey(context, purpose, file, "retired");
  const change = await replaceActiveKey(keyContext, { purpose, event: "retired", next, isLost });
  return tell(purpose, "retired", change, context);
}

async function revoke(context: CommandContext, command: KeyCommand & { name: "revoke" }): Promise<number> {
  const { purpose, keyId, file, fromIndex, log } = command;
  const keyContext = await openKeyContext(context);
  const from = fromIndex === undefined ? undefined : await findStart(context.database, keyId, fromIndex, log);
  if (keyId === (await activeKeyId(context.database.db, purpose))) {
    const next = await findNextKey(context, purpose, file, "revoked");
    const replacement = { purpose, event: "revoked", next, isLost: false, from } as const;
    const change = await replaceActiveKey(keyContext, replacement);
    return tell(purpose, "revoked", change, context);
  }
  return tell(purpose, "revoked", await revokeRetiredKey(keyContext, purpose, keyId, from), context);
}

/** Works without the database: until its keys are wrapped, the service refuses them. */
async function wrap(): Promise<number> {
  const env = readEnv();
  if (env.KEY_WRAPPING_KEY === undefined) throw new Error("Set KEY_WRAPPING_KEY first.");
  const wrapping = createKeyWrapping(env);
  const folder = path.join(env.DATA_DIR, "keys");
  const { seen, wrapped, removed } = await wrapSecretFiles(folder, wrapping);
  const isSet = (["attestation", "log", "zk"] as const).some((one) => findKeySetting(env, one) !== null);
  if (seen === 0 && !isSet)
    throw new Error(`There is no key in ${folder} or the settings. Is DATA_DIR that of the service?`);
  for (const file of wrapped) say(`${file} is wrapped.`);
  for (const file of removed) say(`${file} is removed: a draft of a key that was left behind.`);
  for (const line of await wrapKeySettings(env, wrapping)) say(`Set ${line}`);
  say("Every key is wrapped. Copies of plain keys, in backups for example, stay what they are: delete them.");
  return 0;
}

runCommand(usage, async (argv) => {
  const command = parseKeyArguments(argv);
  if (command.name === "wrap") return wrap();
  return withCommandContext((context) => {
    if (command.name === "rotate") return rotate(context, command);
    return command.name === "revoke" ? revoke(context, command) : list(context);
  });
});
