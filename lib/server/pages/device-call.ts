/** POST of JSON: a person adds a device that is notified of requests, or removes one. */
import { z } from "zod";
import { passkeyName } from "#lib/api/schemas/rosters";
import { addDevice, removeDevice, subscriptionSchema } from "#lib/services/notifications/push";
import { type FindActing, readJson, runAs } from "./passkey-actions";

const call = z.discriminatedUnion("action", [
  z.object({ action: z.literal("add"), name: passkeyName, subscription: subscriptionSchema }),
  z.object({ action: z.literal("remove"), device_id: z.uuid() }),
]);

export async function answerDeviceCall(request: Request, find: FindActing): Promise<Response> {
  const given = await readJson(request, call);
  const answer =
    given === null
      ? { ok: false, message: "The request arrived incomplete." }
      : await runAs(find, async (context, acting) => {
          if (given.action === "add") await addDevice(context, acting, given);
          else await removeDevice(context, acting, given.device_id);
          return null;
        });
  return Response.json(answer, { headers: { "cache-control": "no-store" } });
}
