/** Runs the operations of lib/api/operations/attestations.ts. */

import type { Handlers } from "#lib/api/http/pipeline";
import { readFor, readPublicly } from "#lib/api/http/response-cache";
import type { agentsOperations as agentsSpecs } from "#lib/api/operations/agents";
import type { attestationsOperations as specs } from "#lib/api/operations/attestations";
import type { Context } from "#lib/services/approvals/context";
import { attest } from "./attest";
import { attestBatch } from "./attest-batch";
import { readAgentFeed, writeAgentFeed, writeJsonFeed } from "./feed";
import { recordTraces } from "./otlp";
import { redirectToOwningLog } from "./receipt-files";
import { readAgentRecord } from "./record";
import { writeVerification } from "./verify";

const feedMediaType = "application/feed+json";

export const attestationsHandlers: Handlers<
  typeof specs & Pick<typeof agentsSpecs, "agentFeed" | "agentRecord">,
  Context
> = {
  attest: async (call) => {
    const body = await attest(call.context, {
      caller: call.principal,
      body: call.body,
      raw: call.raw,
      hold: call.hold,
    });
    return { status: 201, body, attested: [body.agent_slug] };
  },
  attestBatch: async ({ context, principal, body, raw, requestId, idempotencyKey }) => {
    const { results, recorded, attested } = await attestBatch(context, {
      caller: principal,
      body,
      raw,
      requestId,
      idempotencyKey,
    });
    const status = recorded === results.length ? 201 : 207;
    return { status, body: { recorded, results }, attested };
  },
  otlpTraces: (call) => recordTraces(call, "traces"),
  otlpLogs: (call) => recordTraces(call, "logs"),
  verify: redirectToOwningLog(async ({ context, params, principal, ip }) => ({
    body: await readFor(principal, context, (from) =>
      writeVerification(from, params["id"] ?? "", principal, ip),
    ),
  })),
  agentRecord: async ({ context, params, query }) => ({
    body: await readAgentRecord(context, params["slug"] ?? "", query),
    headers: { "cache-control": "public, max-age=2" },
  }),
  agentFeed: async ({ context, params, query, request }) => {
    const slug = params["slug"] ?? "";
    if (!request.headers.get("accept")?.includes(feedMediaType)) {
      const body = await readPublicly(context, (from) => writeAgentFeed(from, slug, query));
      return { body, headers: { vary: "Accept" } };
    }
    const feed = await readPublicly(context, (from) => readAgentFeed(from, slug, query));
    return new Response(writeJsonFeed(context.settings.baseUrl, feed), {
      headers: { "content-type": feedMediaType, "cache-control": "no-store", vary: "Accept" },
    });
  },
};
