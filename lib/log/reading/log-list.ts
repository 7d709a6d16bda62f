/** The list of logs side by side (LOG_LIST) in a service that is in it: read at the start, shown, and followed. */
import { readFile } from "node:fs/promises";
import path from "node:path";
import { CannotStart } from "#lib/db/start";
import { baseOfId, LOG_LIST_FILE, LOG_LIST_SIGNATURE_FILE, parseLogList } from "#lib/protocol/tlog/log-list";

export interface LogList {
  /** In the ids of attestations that are made here. */
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
