/** The same as lib/server/pages/passkey-actions.ts, as a POST of JSON. */
import { z } from "zod";
import { readBytes } from "#lib/api/http/pipeline";
import type { PasskeyAnswer } from "#lib/api/schemas/rosters";
import { utf8Decode } from "#lib/protocol/encoding/bytes";
import { parseStrictJson } from "#lib/protocol/encoding/strict-json";
import { begin, type FindActing, finish, remove, rename } from "./passkey-actions";

const call = z.object({
  action: z.enum(["begin", "finish", "rename", "remove"]),
  passkey_id: z.string().optional(),
  name: z.string().optional(),
  response: z.unknown().optional(),
});

/** Null for anything but such a call. */
async function readCall(request: Request): Promise<z.output<typeof call> | null> {
  try {
    const { headers, body } = request;
    const parsed = call.safeParse(parseStrictJson(utf8Decode(await readBytes({ headers, body }))));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}

export async function answerPasskeyCall(request: Request, find: FindActing): Promise<Response> {
  const given = await readCall(request);
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
