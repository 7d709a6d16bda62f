/** Runs the operations of lib/api/operations/attestations.ts. */

import type { Handlers, Params } from "#lib/api/http/pipeline";
import { readFor, readPublicly } from "#lib/api/http/response-cache";
import type { agentsOperations } from "#lib/api/operations/agents";
import type { attestationsOperations, receiptsOperations } from "#lib/api/operations/attestations";
import { AppError } from "#lib/errors";
import { NPM_PACKAGE, PYTHON_WHEEL } from "#lib/protocol/statement/product";
import type { Context } from "#lib/services/approvals/context";
import { attest, attestBatch } from "./attest";
import { eraseContent } from "./erase";
import { readAgentFeed, writeAgentFeed, writeJsonFeed } from "./feed";
import { searchPublicly } from "./list";
import { recordTraces } from "./otlp";
import { listAttestations } from "./own";
import {
  type PackageName,
  type ProgramName,
  packagePath,
  type ReceiptFileKind,
  readAnchors,
  readPackage,
  readProgramFile,
  readReceiptFile,
  redirectToOwningLog,
} from "./receipt-files";
import { readAgentRecord } from "./record";
import { writeVerification } from "./verify";

const download = (kind: ReceiptFileKind) =>
  redirectToOwningLog(async ({ context, params, principal }) => {
    const { name, mediaType, content } = await readFor(principal, context, (from) =>
      readReceiptFile(from, params["id"] ?? "", principal, kind),
    );
    return new Response(content as BodyInit, {
      headers: {
        "content-type": mediaType,
        "content-disposition": `attachment; filename="${name}"`,
        "cache-control": "no-store",
      },
    });
  });

async function requireProgram(name: ProgramName) {
  const file = await readProgramFile(name);
  if (file === null)
    throw new AppError("not_found", `${name} is created by the build, which has not run here`);
  return file;
}

const programHeaders = { "cache-control": "public, max-age=300" };

const program = (name: ProgramName, mediaType: string) => async () => {
  const { bytes, sha256Hex } = await requireProgram(name);
  return new Response(bytes, {
    headers: { "content-type": mediaType, etag: `"${sha256Hex}"`, ...programHeaders },
  });
};

const checksum = (name: ProgramName) => async () => {
  const { sha256Hex } = await requireProgram(name);
  return new Response(`${sha256Hex}  ${name}\n`, {
    headers: { "content-type": "text/plain; charset=utf-8", ...programHeaders },
  });
};

async function refuseRetiredWheel({ context }: { context: Context }): Promise<never> {
  const address = context.settings.baseUrl + (await packagePath(PYTHON_WHEEL));
  throw new AppError(
    "gone",
    `the Python client is called countersign-client now, its module countersign_client: install ${address}`,
  );
}

/** Redirects from an address whose bytes change with every upgrade. npm shows the notice. */
const newestPackage = (name: PackageName, mediaType: string) => async (call: { context: Context }) => {
  const address = call.context.settings.baseUrl + (await packagePath(name));
  const { bytes, sha256Hex } = await requireProgram(name);
  return new Response(bytes, {
    headers: {
      "content-type": mediaType,
      etag: `"${sha256Hex}"`,
      "npm-notice": `These bytes change when the service is upgraded, and a lockfile then fails. Install ${address}`,
      ...programHeaders,
    },
  });
};

async function servePackage({ context, params }: { context: Context; params: Params }) {
  const { digest = "", file = "" } = params;
  const bytes = await readPackage(context.database.db, digest, file);
  if (bytes === null)
    throw new AppError(
      "not_found",
      `this service has never served that file: ${context.settings.baseUrl}/docs has the addresses of the newest packages`,
    );
  return new Response(bytes as BodyInit, {
    headers: {
      "content-type": "application/octet-stream",
      "cache-control": "public, max-age=31536000, immutable",
    },
  });
}

const javaScript = "text/javascript; charset=utf-8";

const feedMediaType = "application/feed+json";

export const attestationsHandlers: Handlers<
  typeof attestationsOperations &
    typeof receiptsOperations &
    Pick<typeof agentsOperations, "agentFeed" | "agentRecord">,
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
  downloadBundle: download("bundle"),
  downloadEnvelope: download("envelope"),
  downloadTlogProof: download("tlog-proof"),
  downloadPayload: download("payload"),
  downloadSignature: download("signature"),
  downloadScitt: download("scitt"),
  readAnchors: redirectToOwningLog(async ({ context, params }) => ({
    body: await readPublicly(context, (from) => readAnchors(from, params["id"] ?? "")),
  })),
  search: async ({ context, query }) => ({
    body: await readPublicly(context, (from) => searchPublicly(from, query.q)),
  }),
  listAttestations: async (call) => ({
    body: await listAttestations(call.context, call.principal, call.query),
  }),
  eraseContent: async (call) => ({
    body: await eraseContent(call.context, call.principal, call.params["id"] ?? ""),
  }),
  verifierProgram: program("verify.mjs", javaScript),
  verifierChecksum: checksum("verify.mjs"),
  commandProgram: program("countersign.mjs", javaScript),
  commandChecksum: checksum("countersign.mjs"),
  clientPackage: newestPackage(NPM_PACKAGE, "application/gzip"),
  pythonWheel: newestPackage(PYTHON_WHEEL, "application/zip"),
  pythonWheelChecksum: checksum(PYTHON_WHEEL),
  servedPackage: servePackage,
  retiredPythonWheel: refuseRetiredWheel,
  retiredPythonWheelChecksum: refuseRetiredWheel,
};
