/** Attestations of another log of the list: the client is redirected to the service whose number the id has. */

import type { Call, Reply } from "#lib/api/http/call";
import { AppError } from "#lib/errors";
import type { Context } from "#lib/services/approvals/context";

/**
 * `read`, or a redirect where this service has no such attestation and the id names another one. There the number is its
 * own, so no client is redirected twice.
 */
export const redirectToOwningLog =
  <Query>(read: (call: Call<null, Query, Context>) => Promise<Reply | Response>) =>
  async (call: Call<null, Query, Context>): Promise<Reply | Response> => {
    try {
      return await read(call);
    } catch (error) {
      const isUnknown = error instanceof AppError && error.errorName === "attestation_not_found";
      const base = isUnknown ? call.context.logList?.baseOf(call.params["id"] ?? "") : null;
      if (!base) throw error;
      const location = `${base}${new URL(call.request.url).pathname}`;
      return new Response(null, { status: 307, headers: { location, "cache-control": "no-store" } });
    }
  };
