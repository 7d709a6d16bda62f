/** The public log's files (c2sp.org/tlog-tiles): content types, and how long each may be remembered. */

import type { Handlers } from "#lib/api/http/pipeline";
import type { logOperations, serviceOperations } from "#lib/api/operations/service";
import { AppError } from "#lib/errors";
import { readJwks, readTrustedRoot, writePublicKeys } from "#lib/log/keys/public-keys";
import { readStatements } from "#lib/log/reading/history";
import { findHead, notInLog, readTilePath } from "#lib/log/reading/reader";
import { readHeadRows } from "#lib/log/records/agent-heads";
import { findCosignedNote, readShownCheckpoint } from "#lib/log/witness/cosigned-checkpoints";
import type { LogContext } from "./context";

/** Parses a log's number in its one spelling; 0 is no log. The first log is found below /log/ alone. */
function parseLogId(text: string | undefined): number {
  return text !== undefined && /^[1-9]\d{0,8}$/.test(text) && text !== "1" ? Number(text) : 0;
}

async function answerCheckpoint({ database, settings }: LogContext, logId: number): Promise<Response> {
  const head = await findHead(database.db, logId);
  if (head === null) throw notInLog();
  const { note } = await readShownCheckpoint(database.db, head, settings.WITNESSES);
  const headers = { "content-type": "text/plain; charset=utf-8", "cache-control": "public, max-age=2" };
  return new Response(note, { headers });
}

const immutable = "public, max-age=31536000, immutable";

/** Serves notes of former logs too: attestations keep naming the note that they were made after. */
async function answerCosignedNote({ database }: LogContext, hash: string): Promise<Response> {
  const note = /^[0-9a-f]{64}$/.test(hash) ? await findCosignedNote(database.db, hash) : null;
  if (note === null) throw notInLog();
  const headers = { "content-type": "text/plain; charset=utf-8", "cache-control": immutable };
  return new Response(note, { headers });
}

async function answerTile(
  { database, staticTiles, oldEntries }: LogContext,
  logId: number,
  rest: string | undefined,
): Promise<Response> {
  const path = `tile/${rest ?? ""}`;
  const location = staticTiles.addressOf(logId, path);
  if (location === null) return answerBytes(await readTilePath(database.db, oldEntries, logId, path));
  return new Response(null, { status: 307, headers: { location, "cache-control": "public, max-age=3600" } });
}

async function answerHeadRows(
  { database }: LogContext,
  logId: number,
  size: string | undefined,
): Promise<Response> {
  const coversSize = size !== undefined && /^[1-9]\d{0,14}$/.test(size) ? Number(size) : 0;
  const rows = await readHeadRows(database.db, logId, coversSize);
  if (rows === null) throw notInLog();
  return answerBytes(rows);
}

function answerBytes(bytes: Uint8Array): Response {
  return new Response(bytes as Uint8Array<ArrayBuffer>, {
    headers: {
      "content-type": "application/octet-stream",
      "content-length": String(bytes.length),
      "cache-control": immutable,
    },
  });
}

/** 404 in a service that is the only one. */
function answerListFile({ logList }: LogContext, part: "file" | "signature", type: string): Response {
  if (logList === null) throw new AppError("not_found", "this service is in no list of logs");
  return new Response(logList[part] as Uint8Array<ArrayBuffer>, {
    headers: { "content-type": type, "cache-control": "public, max-age=300" },
  });
}

export const logHandlers: Handlers<
  typeof logOperations & Pick<typeof serviceOperations, "pubkey" | "jwks" | "sigstore_trusted_root">,
  LogContext
> = {
  pubkey: async ({ context }) => ({
    body: await writePublicKeys(context),
    headers: { "cache-control": "public, max-age=60" },
  }),
  jwks: async ({ context }) => ({
    body: await readJwks(context),
    headers: { "cache-control": "public, max-age=60" },
  }),
  sigstore_trusted_root: async ({ context }) => ({
    body: await readTrustedRoot(context),
    headers: { "cache-control": "public, max-age=60" },
  }),
  log_checkpoint: ({ context }) => answerCheckpoint(context, 1),
  log_tile: ({ context, params }) => answerTile(context, 1, params["path"]),
  log_cosigned: ({ context, params }) => answerCosignedNote(context, params["hash"] ?? ""),
  log_agent_heads: ({ context, params }) => answerHeadRows(context, 1, params["covers_size"]),
  log_list: async ({ context }) => answerListFile(context, "file", "application/json"),
  log_list_signature: async ({ context }) => answerListFile(context, "signature", "application/octet-stream"),
  log_statements: async ({ context, query }) => ({
    body: await readStatements(context.database, query),
    headers: { "cache-control": "public, max-age=2" },
  }),
  epoch_agent_heads: ({ context, params }) =>
    answerHeadRows(context, parseLogId(params["log"]), params["covers_size"]),
  epoch_checkpoint: ({ context, params }) => answerCheckpoint(context, parseLogId(params["log"])),
  epoch_tile: ({ context, params }) => answerTile(context, parseLogId(params["log"]), params["path"]),
};
