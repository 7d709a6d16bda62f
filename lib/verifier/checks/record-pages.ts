/** The pages of an agent's record, as an outsider reads them. */

import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import type { RecordHead } from "#lib/protocol/record/agent-record";
import { type Fault, fault } from "#lib/protocol/statement/outcome";
import {
  decodeHex,
  readObject,
  requireIndex,
  requireObject,
  requireText,
  UnreadableError,
} from "./read-json";
import type { ListedEntry } from "./record-walk";

export type RecordMark = "public" | "private" | "erased" | "decision" | "agent_change";

export interface RecordEntry extends ListedEntry {
  mark: RecordMark;
  attestationId: string | null;
}

export interface RecordPage {
  slug: string;
  agentId: string;
  entries: RecordEntry[];
  head: RecordHead;
  /** As it came: check-counted.ts reads it. */
  snapshot: JsonValue | undefined;
  next: number | null;
}

function readMark(entry: JsonObject): RecordMark {
  const { kind, visibility } = entry;
  if (kind === "decision" || kind === "agent_change") return kind;
  if (
    kind === "attestation" &&
    (visibility === "public" || visibility === "private" || visibility === "erased")
  )
    return visibility;
  throw new UnreadableError("entries: an unknown kind or visibility");
}

function readEntry(entry: unknown): RecordEntry {
  if (!isJsonObject(entry)) throw new UnreadableError("entries: expected objects");
  const mark = readMark(entry);
  return {
    sequence: requireIndex(entry, "sequence"),
    payloadHash: decodeHex(requireText(entry, "payload_hash"), "payload_hash", 32),
    logOrigin: requireText(entry, "log_origin"),
    logIndex: requireIndex(entry, "log_index"),
    mark,
    attestationId: mark === "public" ? requireText(entry, "attestation_id") : null,
  };
}

export function readRecordPage(json: unknown): RecordPage {
  const page = readObject(json);
  const { entries, next } = page;
  const head = requireObject(page, "head");
  if (!Array.isArray(entries)) throw new UnreadableError("entries: expected a list");
  if (next !== null && typeof next !== "number") throw new UnreadableError("next: expected a number or null");
  return {
    slug: requireText(page, "slug"),
    agentId: requireText(page, "agent_id"),
    entries: entries.map(readEntry),
    head: {
      sequence: requireIndex(head, "sequence"),
      link: decodeHex(requireText(head, "link"), "head.link", 32),
    },
    snapshot: page["snapshot"],
    next,
  };
}

/**
 * Page after page, to the head that the first one states: what comes later is for a later run. The server may never want
 * to end, so each page must bring an entry and name the one after its last.
 */
export async function* readRecordPages(
  readPage: (from: number) => Promise<unknown>,
): AsyncGenerator<RecordPage | Fault> {
  let page = readRecordPage(await readPage(1));
  const { agentId, head } = page;
  for (let from = 1; ; ) {
    if (page.agentId !== agentId) throw new UnreadableError("agent_id: differs from page to page");
    yield page;
    const end = from + page.entries.length;
    if (page.next === null || end > head.sequence) return;
    if (page.next !== end || end === from) {
      yield fault("page_unending", { from });
      return;
    }
    from = end;
    page = readRecordPage(await readPage(from));
  }
}
