import type { MemberPrincipal } from "#lib/api/http/principal";
import { requireRole } from "#lib/services/accounts/members";
import type { Context } from "#lib/services/approvals/context";

/** For how long a look at who is still a member lasts. */
const judgedForMs = 1_000;

/** Ends in an error when the person is no member any more: a large file takes minutes. */
async function* whileMember<Part>(
  { database, clock }: Pick<Context, "database" | "clock">,
  person: MemberPrincipal,
  parts: AsyncGenerator<Part>,
): AsyncGenerator<Part> {
  let judgedMs = clock().getTime();
  for await (const part of parts) {
    const nowMs = clock().getTime();
    if (nowMs - judgedMs >= judgedForMs) {
      await requireRole(database.db, person, "member");
      judgedMs = nowMs;
    }
    yield part;
  }
}

/** A file that is written while it is sent, to a member of the organization whose file it is. */
export function answerDownload(
  { context, person }: { context: Pick<Context, "database" | "clock">; person: MemberPrincipal },
  name: string,
  type: string,
  written: AsyncGenerator<string | Uint8Array>,
): Response {
  const encoder = new TextEncoder();
  const parts = whileMember(context, person, written);
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { done, value } = await parts.next();
      if (done) controller.close();
      else controller.enqueue(typeof value === "string" ? encoder.encode(value) : value);
    },
    cancel: async () => {
      await parts.return(undefined);
    },
  });
  return new Response(body, {
    headers: {
      "content-type": type,
      "content-disposition": `attachment; filename="${name}"`,
      "cache-control": "no-store",
    },
  });
}
