/** State of the monitor between two runs. */
import { base64Encode } from "#lib/protocol/encoding/bytes";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { PRODUCT_URI } from "#lib/protocol/statement/product";
import {
  decodeBase64,
  readObject,
  requireIndex,
  requireObject,
  requireText,
  UnreadableError,
} from "#lib/verifier/checks/read-json";
import type { SeenRoster } from "./roster";

const MONITOR_TYPE = `${PRODUCT_URI}/monitor/v1`;

export interface RememberedSnapshot {
  /** With its place in the log. */
  statement: JsonObject;
  rows: Uint8Array;
}

export interface Remembered {
  checkpoint: string;
  /** How many statements the list had. */
  statements: number;
  snapshot: RememberedSnapshot | null;
  /** By the organization's id. */
  rosters: Record<string, SeenRoster>;
}

/** From the file that was kept; throws UnreadableError for any other. */
export function parseRemembered(text: string): Remembered {
  const file = readObject(text);
  if (file["type"] !== MONITOR_TYPE) throw new UnreadableError("not a file that the monitor has kept");
  const snapshot = file["snapshot"] === null ? null : requireObject(file, "snapshot");
  const rosters = Object.entries(requireObject(file, "rosters")).map(([id, seen]) => {
    const roster = requireObject({ [id]: seen }, id);
    return [id, { number: requireIndex(roster, "number"), hash: requireText(roster, "hash") }] as const;
  });
  return {
    checkpoint: requireText(file, "checkpoint"),
    statements: requireIndex(file, "statements"),
    snapshot: snapshot && {
      statement: requireObject(snapshot, "statement"),
      rows: decodeBase64(requireText(snapshot, "rows"), "rows"),
    },
    rosters: Object.fromEntries(rosters),
  };
}

export function encodeRemembered({ checkpoint, statements, snapshot, rosters }: Remembered): string {
  const kept = snapshot && { statement: snapshot.statement, rows: base64Encode(snapshot.rows) };
  return `${JSON.stringify({ type: MONITOR_TYPE, checkpoint, statements, snapshot: kept, rosters })}\n`;
}
