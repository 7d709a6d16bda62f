/** The same as lib/server/pages/passkey-actions.ts, as a POST of JSON. */
import { z } from "zod";
import type { PasskeyAnswer } from "#lib/api/schemas/rosters";
import { begin, type FindActing, finish, readJson, remove, rename } from "./passkey-actions";

const call = z.object({
  action: z.enum(["begin", "finish", "rename", "remove"]),
  passkey_id: z.string().optional(),
  name: z.string().optional(),
  response: z.unknown().optional(),
});

export async function answerPasskeyCall(request: Request, find: FindActing): Promise<Response> {
  const given = await readJson(request, call);
  const answers: Record<z.output<typeof call>["action"], () => Promise<PasskeyAnswer<unknown>>> = {
    begin: () => begin(find),
    finish: () => finish(find, given?.name, given?.response),
    rename: () => rename(find, given?.passkey_id, given?.name),
    remove: () => remove(find, given?.passkey_id),
  };
  const answer: PasskeyAnswer<unknown> =
    given === null
      ? { ok: false, message: "The request arrived incomplete." }
      : await answers[given.action]();
  return Response.json(answer, { headers: { "cache-control": "no-store" } });
}
