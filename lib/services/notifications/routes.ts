/** The development mailbox, for programs. */

import type { HttpContext } from "#lib/api/http/context";
import type { Handlers } from "#lib/api/http/pipeline";
import type { serviceOperations as specs } from "#lib/api/operations/service";
import { AppError } from "#lib/errors";
import { listMailbox } from "./mailbox";

export const mailHandlers: Handlers<Pick<typeof specs, "mailbox">, HttpContext> = {
  mailbox: async ({ context }) => {
    if (context.settings.mail !== "mailbox") throw new AppError("not_found", "this instance sends real mail");
    return { body: { messages: await listMailbox(context.database) }, headers: { vary: "accept" } };
  },
};
