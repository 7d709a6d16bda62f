/** Runs the operations by which an organization reads about itself (lib/api/operations/agents.ts). */

import { encodeCursor } from "#lib/api/http/cursor";
import type { Handlers } from "#lib/api/http/pipeline";
import type { rostersOperations as specs } from "#lib/api/operations/agents";
import { readAudit } from "./audit-list";
import type { AccountsContext } from "./context";
import { readRoster } from "./roster";

/** A line an event; where the next page begins is in the header, as RFC 8288 has it. */
const ndjson = "application/x-ndjson";

export const rostersHandlers: Handlers<typeof specs, AccountsContext> = {
  readRoster: async ({ context, principal, query }) => ({
    body: await readRoster(context.database.db, principal.organizationId, query.number),
  }),
  readAudit: async ({ context, principal, query, request }) => {
    const { rows, nextCursor } = await readAudit(context, principal.organizationId, query);
    const next_cursor = nextCursor === null ? null : encodeCursor(nextCursor);
    if (!request.headers.get("accept")?.includes(ndjson))
      return { body: { events: rows, next_cursor }, headers: { vary: "Accept" } };
    const next = new URL(request.url);
    if (next_cursor !== null) next.searchParams.set("cursor", next_cursor);
    return new Response(rows.map((row) => `${JSON.stringify(row)}\n`).join(""), {
      headers: {
        "content-type": ndjson,
        "cache-control": "no-store",
        vary: "Accept",
        ...(next_cursor !== null && { link: `<${next.pathname}${next.search}>; rel="next"` }),
      },
    });
  },
};
