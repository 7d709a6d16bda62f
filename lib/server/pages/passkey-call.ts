/** Answers POSTs of JSON about a person's passkeys (as passkey-actions.ts) and about the devices that are notified. */
import { z } from "zod";
import { type PasskeyAnswer, passkeyName } from "#lib/api/schemas/rosters";
import { addDevice, removeDevice, subscriptionSchema } from "#lib/services/notifications/push";
import { begin, type FindActing, finish, readJson, remove, rename, runAs } from "./passkey-actions";

const passkeyCall = z.object({
  action: z.enum(["begin", "finish", "rename", "remove"]),
  passkey_id: z.string().optional(),
  name: z.string().optional(),
  response: z.unknown().optional(),
});
const deviceCall = z.discriminatedUnion("action", [
  z.object({ action: z.literal("add"), name: passkeyName, subscription: subscriptionSchema }),
  z.object({ action: z.literal("remove"), device_id: z.uuid() }),
]);

async function answer<Schema extends z.ZodType>(
  request: Request,
  schema: Schema,
  work: (given: z.output<Schema>) => Promise<PasskeyAnswer<unknown>>,
): Promise<Response> {
  const given = await readJson(request, schema);
  const done: PasskeyAnswer<unknown> =
    given === null ? { ok: false, message: "The request arrived incomplete." } : await work(given);
  return Response.json(done, { headers: { "cache-control": "no-store" } });
}

export const answerPasskeyCall = (request: Request, find: FindActing): Promise<Response> =>
  answer(request, passkeyCall, (given) => {
    const answers = {
      begin: () => begin(find),
      finish: () => finish(find, given.name, given.response),
      rename: () => rename(find, given.passkey_id, given.name),
      remove: () => remove(find, given.passkey_id),
    };
    return answers[given.action]();
  });

export const answerDeviceCall = (request: Request, find: FindActing): Promise<Response> =>
  answer(request, deviceCall, (given) =>
    runAs(find, async (context, acting) => {
      if (given.action === "add") await addDevice(context, acting, given);
      else await removeDevice(context, acting, given.device_id);
      return null;
    }),
  );
