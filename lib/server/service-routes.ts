/** Runs the operations of lib/api/operations/service.ts that are about the service as a whole. */

import type { Handlers } from "#lib/api/http/call";
import type { HttpContext } from "#lib/api/http/context";
import { buildOpenApi } from "#lib/api/openapi";
import type { serviceOperations as specs } from "#lib/api/operations/service";
import { AppError } from "#lib/errors";

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
