/** Runs the operations of lib/contract/operations-receipts.ts. */
import type { Context } from "#lib/approvals/context";
import type { receiptsOperations as specs } from "#lib/contract/operations-receipts";
import { type Call, type Runs, requirePrincipal } from "#lib/door/route";
import { AppError } from "#lib/errors";
import { readAnchors } from "./anchors";
import { eraseContent } from "./erase";
import { listAttestations } from "./own";
import { type ReceiptFileKind, readReceiptFile } from "./receipt-files";
import { readVerifierFile } from "./verifier-file";

const download = (kind: ReceiptFileKind) => async (call: Call<unknown, unknown, Context>) => {
  const { context, params, principal } = call;
  const { name, mediaType, content } = await readReceiptFile(context, params["id"] ?? "", principal, kind);
  return new Response(content as BodyInit, {
    headers: {
      "content-type": mediaType,
      "content-disposition": `attachment; filename="${name}"`,
      "cache-control": "no-store",
    },
  });
};

async function requireVerifier() {
  const file = await readVerifierFile();
  if (file === null)
    throw new AppError("not_found", "verify.mjs is created by the build, which has not run here");
  return file;
}

const verifierHeaders = { "cache-control": "public, max-age=300" };

export const receiptsRuns: Runs<typeof specs, Context> = {
  downloadBundle: download("bundle"),
  downloadEnvelope: download("envelope"),
  downloadTlogProof: download("tlog-proof"),
  downloadPayload: download("payload"),
  downloadSignature: download("signature"),
  readAnchors: async ({ context, params }) => ({ body: await readAnchors(context, params["id"] ?? "") }),
  listAttestations: async (call) => ({
    body: await listAttestations(call.context, requirePrincipal(call), call.query),
  }),
  eraseContent: async (call) => ({
    body: await eraseContent(call.context, requirePrincipal(call), call.params["id"] ?? ""),
  }),
  verifierProgram: async () => {
    const { bytes, sha256Hex } = await requireVerifier();
    return new Response(bytes, {
      headers: {
        "content-type": "text/javascript; charset=utf-8",
        etag: `"${sha256Hex}"`,
        ...verifierHeaders,
      },
    });
  },
  verifierChecksum: async () => {
    const { sha256Hex } = await requireVerifier();
    return new Response(`${sha256Hex}  verify.mjs\n`, {
      headers: { "content-type": "text/plain; charset=utf-8", ...verifierHeaders },
    });
  },
};
