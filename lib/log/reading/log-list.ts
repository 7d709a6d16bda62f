/** The list of logs side by side (LOG_LIST) in a service that is in it: read at the start, shown, and followed. */

import { createHash } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { CannotStart } from "#lib/db/migrations";
import type { Signer } from "#lib/log/signing/signing-keys";
import { makeFolder } from "#lib/make-folder";
import { base64Encode } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import { readTextAtMost } from "#lib/protocol/encoding/read-stream";
import { encodePublicKeyPem } from "#lib/protocol/keys/ed25519";
import { type Checkpoint, parseVerifierKey, verifyCheckpoint } from "#lib/protocol/tlog/checkpoint";
import {
  baseOfId,
  type ListedLog,
  LOG_LIST_FILE,
  LOG_LIST_SIGNATURE_FILE,
  MAX_LOG_NUMBER,
  parseLogList,
} from "#lib/protocol/tlog/witness-policy";

export interface LogList {
  number: number;
  file: Uint8Array;
  /** Ed25519 over the file's bytes. */
  signature: Uint8Array;
  /** The service that made the attestation with this id; null if that is this one or unknown. */
  baseOf(id: string): string | null;
}

/** Null without a folder. Throws if this log isn't in the list: its ids would lead nowhere. */
export async function openLogList(folder: string | undefined, origin: string): Promise<LogList | null> {
  if (folder === undefined) return null;
  const read = async (name: string) => new Uint8Array(await readFile(path.join(folder, name)));
  const readList = async () => {
    const [file, signature] = await Promise.all([read(LOG_LIST_FILE), read(LOG_LIST_SIGNATURE_FILE)]);
    return { file, signature, logs: parseLogList(JSON.parse(Buffer.from(file).toString("utf8"))) };
  };
  const { file, signature, logs } = await readList().catch((error: NodeJS.ErrnoException) => {
    const says = `the list in LOG_LIST (${folder}) can't be read (${error.code ?? error.message})`;
    throw new CannotStart({ says, mend: "Set it to the folder of `npm run log -- list`." }, error);
  });
  const own = logs.find((log) => log.origin === origin);
  if (own === undefined)
    throw new CannotStart({
      says: `the list in LOG_LIST (${folder}) does not have the log ${origin}`,
      mend: "Add it with `npm run log -- list`.",
    });
  return { number: own.number, file, signature, baseOf: (id) => baseOfId(logs, own.number, id) };
}

/*
 * Makes the list of logs side by side: asks each service for its keys and its logs' checkpoints, and signs what holds.
 * A service keeps the number that it had in the list before.
 */

const timeoutMs = 10_000;
const maxAnswerBytes = 4 * 1024 * 1024;

async function fetchText(url: string): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) }).catch((cause: unknown) => {
    throw new Error(`${url} doesn't answer`, { cause });
  });
  const text = response.ok ? await readTextAtMost(response, maxAnswerBytes) : null;
  if (text === null) throw new Error(`${url} answered HTTP ${response.status}`);
  return text;
}

const listObjects = (value: JsonValue | undefined): JsonObject[] =>
  Array.isArray(value) ? value.filter(isJsonObject) : [];

async function readCheckpoint(log: JsonObject): Promise<Checkpoint> {
  const verdict = verifyCheckpoint(
    await fetchText(`${log["url"]}/checkpoint`),
    parseVerifierKey(String(log["vkey"])),
  );
  if (!verdict.ok) throw new Error(`${log["url"]}/checkpoint: ${verdict.problem}`);
  return verdict.checkpoint;
}

/** State in the form of CT's list: a log that takes entries, or the last head of one that doesn't. */
function describeState({ size, root }: Checkpoint, closedAt: JsonValue | undefined, now: string): JsonObject {
  if (typeof closedAt !== "string") return { usable: { timestamp: now } };
  const head = { sha256_root_hash: base64Encode(root), tree_size: size };
  return { readonly: { timestamp: closedAt, final_tree_head: head } };
}

async function describeService(base: string, number: number, now: string): Promise<JsonObject[]> {
  const answer = JSON.parse(await fetchText(`${base}/v1/pubkey`)) as JsonObject;
  const keys = listObjects(answer["keys"]);
  return Promise.all(
    listObjects(answer["logs"]).map(async (log) => {
      const vkey = String(log["vkey"]);
      const pem = encodePublicKeyPem(parseVerifierKey(vkey).publicKey);
      const key = pem.replaceAll(/-----[^-]+-----|\n/g, "");
      return {
        description: String(log["origin"]),
        log_id: createHash("sha256").update(Buffer.from(key, "base64")).digest("base64"),
        key,
        mmd: 1,
        submission_url: `${base}/`,
        monitoring_url: `${log["url"]}/`,
        state: describeState(await readCheckpoint(log), log["closed_at"], now),
        number,
        origin: String(log["origin"]),
        vkey,
        attestation_keys: keys.filter((one) => one["log_origin"] === log["origin"]),
      };
    }),
  );
}

async function readListed(folder: string): Promise<ListedLog[]> {
  const text = await readFile(path.join(folder, LOG_LIST_FILE), "utf8").catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return null;
      throw error;
    },
  );
  return text === null ? [] : parseLogList(JSON.parse(text));
}

function numberServices(bases: readonly string[], listed: readonly ListedLog[]): Map<string, number> {
  const numbers = new Map(listed.map(({ base, number }) => [base, number]));
  for (const base of bases) if (!numbers.has(base)) numbers.set(base, Math.max(0, ...numbers.values()) + 1);
  if (Math.max(...numbers.values()) > MAX_LOG_NUMBER)
    throw new Error(`a list has at most ${MAX_LOG_NUMBER} services`);
  return numbers;
}

async function replaceFile(file: string, data: Uint8Array): Promise<void> {
  await writeFile(`${file}.new`, data);
  await rename(`${file}.new`, file);
}

export async function makeLogList(
  folder: string,
  more: readonly string[],
  signer: Signer,
  clock: () => Date,
): Promise<Map<number, string>> {
  const unfit = more.find((url) => !URL.canParse(url));
  if (unfit !== undefined) throw new Error(`"${unfit}" is no URL`);
  const bases = more.map((url) => new URL(url).href.replace(/\/+$/, ""));
  const numbers = numberServices(bases, await readListed(folder));
  if (numbers.size === 0) throw new Error(`no URL is given, and there is no list in ${folder}`);
  const now = clock().toISOString();
  const logs: JsonObject[] = [];
  for (const [base, number] of numbers) logs.push(...(await describeService(base, number, now)));
  const [first = ""] = numbers.keys();
  const operator = { name: new URL(first).hostname, email: [], logs: [], tiled_logs: logs };
  const list = { version: "3", log_list_timestamp: now, operators: [operator] };
  const file = new TextEncoder().encode(`${JSON.stringify(list, null, 2)}\n`);
  await makeFolder(folder);
  await replaceFile(path.join(folder, LOG_LIST_FILE), file);
  await replaceFile(path.join(folder, LOG_LIST_SIGNATURE_FILE), signer.sign(file));
  return new Map([...numbers].map(([base, number]) => [number, base]));
}
