/** Runs the operations of lib/contract/operations-receipts.ts. */
import type { Context } from "#lib/approvals/context";
import type { receiptsOperations as specs } from "#lib/contract/operations-receipts";
import { PYTHON_WHEEL } from "#lib/core/statement/product";
import { AppError } from "#lib/errors";
import type { Handlers } from "#lib/http/call";
import { readFor, readPublicly } from "#lib/http/read-publicly";
import { readAnchors } from "./anchors";
import { redirectToOwningLog } from "./elsewhere";
import { eraseContent } from "./erase";
import { listAttestations } from "./own";
import { type ProgramName, readProgramFile } from "./program-files";
import { type ReceiptFileKind, readReceiptFile } from "./receipt-files";
import { searchPublicly } from "./search";

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

function refuseRetiredWheel({ context }: { context: Context }): never {
  throw new AppError(
    "gone",
    `the Python client is called countersign-client now, its module countersign_client: install ${context.settings.baseUrl}/${PYTHON_WHEEL}`,
  );
}

const javaScript = "text/javascript; charset=utf-8";

export const receiptsHandlers: Handlers<typeof specs, Context> = {
  downloadBundle: download("bundle"),
  downloadEnvelope: download("envelope"),
  downloadTlogProof: download("tlog-proof"),
  downloadPayload: download("payload"),
  downloadSignature: download("signature"),
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
  clientPackage: program("countersign.tgz", "application/gzip"),
  pythonWheel: program(PYTHON_WHEEL, "application/zip"),
  pythonWheelChecksum: checksum(PYTHON_WHEEL),
  retiredPythonWheel: refuseRetiredWheel,
  retiredPythonWheelChecksum: refuseRetiredWheel,
};
