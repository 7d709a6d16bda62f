/** Runs the operations of lib/contract/operations-service.ts. */
import { buildOpenApi } from "#lib/contract/openapi";
import type { serviceOperations as specs } from "#lib/contract/operations-service";
import { AppError } from "#lib/errors";
import { listMailbox } from "#lib/services/mailbox";
import { readJwks, readPublicKeys } from "#lib/services/public-keys";
import { isNearby } from "./client-ip";
import type { Runs } from "./route";

export const serviceRuns: Runs<typeof specs> = {
  pubkey: async ({ context }) => ({
    body: await readPublicKeys(context),
    headers: { "cache-control": "public, max-age=60" },
  }),
  jwks: async ({ context }) => ({
    body: await readJwks(context),
    headers: { "cache-control": "public, max-age=60" },
  }),
  openapi: async ({ app }) => ({
    body: buildOpenApi(app.env.baseUrl),
    headers: { "cache-control": "public, max-age=60" },
  }),
  health: async ({ context }) => {
    await context.health.check();
    return { body: { status: "ok", database: context.database.kind, time: context.clock().toISOString() } };
  },
  mailbox: async ({ app, context, ip }) => {
    if (app.env.mail !== "mailbox") throw new AppError("not_found", "mail is really sent here");
    // Whoever reads a mailbox can have keys for every address.
    if (!isNearby(ip)) throw new AppError("not_found", "the mailbox is read from this machine or network");
    return { body: { messages: await listMailbox(context.database) }, headers: { vary: "accept" } };
  },
};
