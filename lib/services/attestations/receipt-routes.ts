/** Runs the operations of lib/api/operations/attestations.ts. */

import type { Handlers, Params } from "#lib/api/http/pipeline";
import { readFor, readPublicly } from "#lib/api/http/response-cache";
import type { receiptsOperations as specs } from "#lib/api/operations/attestations";
import { AppError } from "#lib/errors";
import { NPM_PACKAGE, PYTHON_WHEEL } from "#lib/protocol/statement/product";
import type { Context } from "#lib/services/approvals/context";
import { eraseContent } from "./erase";
import { searchPublicly } from "./list";
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

/** Under an address whose bytes change with every upgrade. npm shows the notice. */
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

export const receiptsHandlers: Handlers<typeof specs, Context> = {
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
