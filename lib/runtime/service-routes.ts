/** Runs the operations of lib/contract/operations-service.ts that are about the service as a whole. */

import { buildOpenApi } from "#lib/contract/openapi";
import type { serviceOperations as specs } from "#lib/contract/operations-service";
import { AppError } from "#lib/errors";
import type { Handlers } from "#lib/http/call";
import type { HttpContext } from "#lib/http/context";

export const serviceHandlers: Handlers<Pick<typeof specs, "openapi" | "health">, HttpContext> = {
  openapi: async ({ context }) => ({
    body: buildOpenApi(context.settings.baseUrl),
    headers: { "cache-control": "public, max-age=60" },
  }),
  health: async ({ context }) => {
    if (context.leaving.hasBegun)
      throw new AppError("service_unavailable", "this server is about to stop; ask another one");
    await context.health.check();
    return { body: { status: "ok", database: context.database.kind, time: context.clock().toISOString() } };
  },
};
