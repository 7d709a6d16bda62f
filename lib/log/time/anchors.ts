/**
 * Anchors of a leaf: checkpoints that cover it and that somebody outside has cosigned or stamped, each witness's and each
 * authority's first one after the leaf. They bound the time before which it was made.
 */

import { selectTiles } from "#lib/log/reading/stored-proof";
import { base64Decode } from "#lib/protocol/encoding/bytes";
import { addNoteSignatures } from "#lib/protocol/tlog/checkpoint";
import { parseSignatureLines } from "#lib/protocol/tlog/signed-note";

/** As {@link selectAnchors} gives it. */
interface StoredAnchor {
  size: number;
  note: string;
  lines: string | null;
  stamps: { tsa: string; response: string }[] | null;
  tiles: string | null;
}

/** Rows of this many sizes are looked at. A witness that has none among them was silent for long. */
const maxCosignatures = 32;
const maxStamps = 8;

/** SQL of one JSON column, null if there is no anchor. `witnesses`: names whose cosignatures count, or NULL. */
export function selectAnchors(logId: string, index: string, witnesses: string): string {
  return `SELECT json_agg(json_build_object('size', k.size, 'note', k.note, 'lines', shown.lines, 'stamps', stamped.stamps,
      'tiles', proof.tiles) ORDER BY k.size) AS anchors
    FROM (
      SELECT DISTINCT size FROM (
        SELECT min(size) AS size FROM (
          SELECT s.witness, s.size FROM log_cosignatures s
          WHERE ${witnesses}::text[] IS NOT NULL AND s.log_id = ${logId} AND s.size > ${index} AND s.witness = ANY(${witnesses}::text[])
          ORDER BY s.size LIMIT ${maxCosignatures}
        ) AS cosigned GROUP BY witness
        UNION ALL
        SELECT min(size) FROM (
          SELECT t.tsa, t.size FROM log_timestamps t WHERE t.log_id = ${logId} AND t.size > ${index}
          ORDER BY t.size LIMIT ${maxStamps}
        ) AS stamped GROUP BY tsa
      ) AS sizes
    ) AS first
    JOIN log_checkpoints k ON k.log_id = ${logId} AND k.size = first.size
    LEFT JOIN LATERAL (
      SELECT string_agg(s.line, '' ORDER BY s.witness) AS lines FROM log_cosignatures s
      WHERE s.log_id = ${logId} AND s.size = first.size AND s.witness = ANY(${witnesses}::text[])
    ) AS shown ON true
    LEFT JOIN LATERAL (
      SELECT json_agg(json_build_object('tsa', t.tsa, 'response', encode(t.response, 'base64')) ORDER BY t.tsa) AS stamps
      FROM log_timestamps t WHERE t.log_id = ${logId} AND t.size = first.size
    ) AS stamped ON true
    LEFT JOIN LATERAL (${selectTiles(logId, index, "first.size")}) proof ON true`;
}

export interface Anchor {
  size: number;
  /** The signed note with the cosignatures. */
  checkpoint: string;
  stamps: { tsa: string; response: Uint8Array }[];
  /** For {@link proveStored}. */
  tiles: string | null;
}

/** The column of {@link selectAnchors}, which drivers give parsed or as text. */
export function readAnchors(column: unknown): Anchor[] {
  const parsed: unknown = typeof column === "string" ? JSON.parse(column) : column;
  return ((parsed ?? []) as StoredAnchor[]).map(({ size, note, lines, stamps, tiles }) => ({
    size,
    checkpoint: lines === null ? note : addNoteSignatures(note, parseSignatureLines(lines)),
    stamps: (stamps ?? []).map(({ tsa, response }) => ({
      tsa,
      response: base64Decode(response.replaceAll("\n", "")),
    })),
    tiles,
  }));
}
