/** Passkey actions of a person, on the page of a mail's link or signed in: the same work, other proof of who it is. */
import { z } from "zod";
import type { MemberPrincipal } from "#lib/api/http/context";
import { enforceLimit, limitPolicy, readBytes } from "#lib/api/http/pipeline";
import { toAppError } from "#lib/api/http/problem";
import {
  authenticationResponse,
  type PasskeyAnswer,
  passkeyName,
  registrationResponse,
} from "#lib/api/schemas/rosters";
import { AppError } from "#lib/errors";
import { isUuid, utf8Decode } from "#lib/protocol/encoding/bytes";
import { parseStrictJson } from "#lib/protocol/encoding/strict-json";
import { sentence } from "#lib/protocol/text/display-text";
import { getApp } from "#lib/server/singleton";
import {
  type Acting,
  beginConfirmation,
  beginEnrolment,
  finishConfirmation,
  finishEnrolment,
  removePasskey,
  renamePasskey,
} from "#lib/services/accounts/passkeys";
import type { Context } from "#lib/services/approvals/context";
import { addDevice, removeDevice, subscriptionSchema } from "#lib/services/notifications/push";
import { currentAddress, requireOwnPage } from "./portal-request";

type Find<Subject> = (context: Context, ip: string) => Promise<Subject>;
export type FindActing = Find<Acting>;

/** The page's own post, within the limit of its address, as the person that `find` finds. */
async function runAs<Subject, Value>(
  find: Find<Subject>,
  work: (context: Context, subject: Subject) => Promise<Value>,
): Promise<PasskeyAnswer<Value>> {
  const { context, env } = await getApp();
  try {
    await requireOwnPage();
    const ip = await currentAddress();
    await enforceLimit(context, limitPolicy(env, "approve"), ip);
    return { ok: true, value: await work(context, await find(context, ip)) };
  } catch (thrown) {
    const error = toAppError(thrown);
    if (error.errorName === "server_error" || error.errorName === "service_unavailable")
      context.logger.error({ err: error.cause ?? error }, "a passkey could not be changed");
    return { ok: false, message: sentence(error.detail) };
  }
}

/** Null for anything but such a call. */
async function readJson<Schema extends z.ZodType>(
  { headers, body }: Request,
  schema: Schema,
): Promise<z.output<Schema> | null> {
  try {
    const parsed = schema.safeParse(parseStrictJson(utf8Decode(await readBytes({ headers, body }))));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}

/** A client may post anything to a server action. */
function read<Schema extends z.ZodType>(schema: Schema, given: unknown, what: string): z.output<Schema> {
  const parsed = schema.safeParse(given);
  if (!parsed.success)
    throw new AppError("validation_error", `${what} ${parsed.error.issues[0]?.message ?? "is not accepted"}`);
  return parsed.data;
}

function readId(given: unknown): string {
  if (typeof given !== "string" || !isUuid(given))
    throw new AppError("not_found", "nothing exists with this id");
  return given;
}

export const begin = (find: FindActing) =>
  runAs(find, (context, { approver }) => beginEnrolment(context, approver));

export const finish = (find: FindActing, name: unknown, response: unknown) =>
  runAs(find, (context, { approver, actor }) => {
    const wanted = {
      name: read(passkeyName, name, "the name"),
      response: read(registrationResponse, response, "the browser's answer:"),
    };
    return finishEnrolment(context, approver, wanted, actor);
  });

export const rename = (find: FindActing, passkeyId: unknown, name: unknown) =>
  runAs(find, async (context, { approver, actor }) => {
    const wanted = { passkeyId: readId(passkeyId), name: read(passkeyName, name, "the name") };
    await renamePasskey(context, approver, wanted, actor);
    return null;
  });

export const remove = (find: FindActing, passkeyId: unknown) =>
  runAs(find, async (context, { approver, actor }) => {
    await removePasskey(context, approver, readId(passkeyId), actor);
    return null;
  });

/* A passkey as a second factor of the session. */

export const beginConfirming = (find: Find<MemberPrincipal>) => runAs(find, beginConfirmation);

export const confirm = (find: Find<MemberPrincipal>, response: unknown) =>
  runAs(find, async (context, person) => {
    await finishConfirmation(
      context,
      person,
      read(authenticationResponse, response, "the browser's answer:"),
    );
    return null;
  });

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
