/**
 * A record from its first entry to its head, entry by entry: numbers without a gap, places in the log that rise, and
 * links that were computed here and nowhere else. What is signed about an entry is compared on the way.
 */

import { bytesEqual, hexEncode } from "#lib/protocol/encoding/bytes";
import {
  emptyRecord,
  extendRecord,
  isSameHead,
  type RecordHead,
  type RecordPlace,
} from "#lib/protocol/record/agent-record";
import { type Fault, fault } from "#lib/protocol/statement/outcome";

/** As the service lists it. */
export interface ListedEntry {
  sequence: number;
  payloadHash: Uint8Array;
  logOrigin: string;
  logIndex: number;
}

/** Facts about an entry that its signed payload proves. */
export interface SignedEntry {
  place: RecordPlace;
  payloadHash: Uint8Array;
}

export interface RecordWalk {
  /** The head after what was added. */
  head(): RecordHead;
  /** Adds the next entry; a fault leaves the walk where it was. `signed`: what is known of it besides. */
  add(entry: ListedEntry, signed?: SignedEntry): Fault | null;
  /** Checks that the entries end at this head. */
  end(claimed: RecordHead): Fault | null;
}

export function walkRecord(agentId: string): RecordWalk {
  let head = emptyRecord(agentId);
  let last: ListedEntry | null = null;
  const closedOrigins = new Set<string>();

  function isLaterInLog({ logOrigin, logIndex }: ListedEntry): boolean {
    if (last === null) return true;
    return last.logOrigin === logOrigin ? last.logIndex < logIndex : !closedOrigins.has(logOrigin);
  }

  function findFault(entry: ListedEntry, signed: SignedEntry | undefined): Fault | null {
    const number = head.sequence + 1;
    if (entry.sequence !== number) return fault("record_number_missing", { number });
    if (!isLaterInLog(entry)) return fault("record_out_of_order", { number });
    if (signed === undefined) return null;
    const { agent_id, sequence, previous } = signed.place;
    if (agent_id !== agentId || sequence !== number || !bytesEqual(signed.payloadHash, entry.payloadHash))
      return fault("record_entry_mismatch", { number });
    return previous === hexEncode(head.link) ? null : fault("record_broken", { number: head.sequence });
  }

  return {
    head: () => head,
    add: (entry, signed) => {
      const found = findFault(entry, signed);
      if (found !== null) return found;
      if (last !== null && last.logOrigin !== entry.logOrigin) closedOrigins.add(last.logOrigin);
      head = extendRecord(head, entry.payloadHash);
      last = entry;
      return null;
    },
    end: (claimed) =>
      isSameHead(head, claimed)
        ? null
        : fault("record_head_mismatch", { number: claimed.sequence, found: head.sequence }),
  };
}
