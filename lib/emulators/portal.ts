/**
 * World's Developer Portal, v4 verify endpoint, for the local stand-in: the same requests, answers, codes and
 * generosities (a reused nullifier is still a 200). It knows only its own two trees, its one app and the staging
 * environment, and checks every proof by pairing.
 *
 * As with the real one, no RP signature reaches it: that is checked before a proof is made.
 */
import { z } from "zod";
import { parseFieldElement, parseWord, wordHex } from "#lib/protocol/world-id/world-id-proof";
import { type LocalLevel, treeRoot } from "./prover";

export async function readJson(request: Request, maxLength: number): Promise<unknown> {
  const text = await request.text();
  if (text.length > maxLength) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const MAX_BODY_LENGTH = 64 * 1024;
const MAX_NULLIFIERS = 10_000;
const MAX_ACTION_LENGTH = 128;
/** Each costs a pairing, on the thread that answers requests. */
const MAX_RESPONSES = 8;
const EMPTY_SIGNAL_HASH = "0x00c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a4";

const hex = z.string().regex(/^0x[0-9a-fA-F]+$/);
const itemV3 = z.object({
  identifier: z.enum(["orb", "device", "face", "document", "secure_document"]),
  signal_hash: hex.default(EMPTY_SIGNAL_HASH),
  merkle_root: z.string(),
  nullifier: hex,
  proof: z.string(),
});
const body = z.object({
  protocol_version: z.enum(["3.0", "4.0"]),
  nonce: z.string(),
  action: z.string().min(1).max(MAX_ACTION_LENGTH),
  environment: z.enum(["production", "staging"]).default("production"),
  responses: z.array(z.unknown()).min(1).max(MAX_RESPONSES),
});

export interface PortalStubSettings {
  app_id: string;
  rp_id: string;
  now?: () => number;
}

interface ItemResult {
  identifier: string;
  success: boolean;
  nullifier?: string;
  code?: string;
  detail?: string;
}

/** POST /api/v4/verify/:id */
export type PortalStub = (request: Request, params: { id: string }) => Promise<Response>;

export function createPortalStub(settings: PortalStubSettings): PortalStub {
  const firstSeen = new Map<string, string>();
  return async (request, { id }) => {
    if (id !== settings.app_id && id !== settings.rp_id) {
      const isId = /^(app|rp)_[a-z0-9_]+$/.test(id);
      return isId
        ? refuse("app_not_migrated", "This app is not registered.")
        : refuse("invalid_request", "Invalid ID format.");
    }
    const json = await readJson(request, MAX_BODY_LENGTH);
    if (json === undefined) return refuse("invalid_request", "Invalid JSON in request body");
    const parsed = body.safeParse(json);
    if (!parsed.success) return refuse("validation_error", z.prettifyError(parsed.error));
    const items = z.array(itemV3).safeParse(parsed.data.responses);
    if (parsed.data.protocol_version === "3.0" && !items.success) {
      return refuse("validation_error", z.prettifyError(items.error));
    }
    if (parsed.data.environment !== "staging") {
      return refuse("environment_mismatch", "The local stand-in knows the staging environment only.");
    }
    const results = items.success
      ? await Promise.all(items.data.map((item) => verifyItem(item, settings.app_id, parsed.data.action)))
      : [
          {
            identifier: "unknown",
            success: false,
            code: "invalid_proof",
            detail: "The local stand-in has no v4 prover.",
          },
        ];
    return report(results, parsed.data, firstSeen, settings.now ?? Date.now);
  };
}

async function verifyItem(item: z.infer<typeof itemV3>, appId: string, action: string): Promise<ItemResult> {
  const { identifier } = item;
  const fail = (code: string, detail: string): ItemResult => ({ identifier, success: false, code, detail });
  const root = parseFieldElement(item.merkle_root);
  const nullifier = parseFieldElement(item.nullifier);
  const signalHash = parseWord(item.signal_hash);
  if (root === undefined || nullifier === undefined || signalHash === undefined) {
    return fail("invalid_format", "A number is malformed or not in the field.");
  }
  if (identifier !== "orb" && identifier !== "device") return fail("invalid_merkle_root", "No such tree.");
  if (root !== treeRoot(identifier))
    return fail("invalid_merkle_root", "The root is not of this credential's tree.");
  const world = {
    protocol_version: "3.0" as const,
    app_id: appId,
    rp_id: "",
    nonce: "",
    level: identifier satisfies LocalLevel,
    nullifier_hash: wordHex(nullifier),
    merkle_root: wordHex(root),
    proof: item.proof.toLowerCase(),
  };
  const [{ checkProofV3 }, { semaphoreKeyFor }] = await Promise.all([
    import("#lib/verifier/checks/check-world-proof"),
    import("#lib/protocol/world-id/world-id-keys"),
  ]);
  const check = checkProofV3(world, action, signalHash, semaphoreKeyFor("local"));
  if (check.ok) return { identifier, success: true, nullifier: world.nullifier_hash };
  return check.reason === "malformed_proof"
    ? fail("invalid_format", "The proof is not eight words that name points.")
    : fail("invalid_proof", "The proof does not verify.");
}

function report(
  results: ItemResult[],
  request: z.infer<typeof body>,
  firstSeen: Map<string, string>,
  now: () => number,
): Response {
  const first = results.find((result) => result.success);
  if (first?.nullifier === undefined) {
    return refuse("all_verifications_failed", "All proof verifications failed.", results);
  }
  const key = `${request.action} ${first.nullifier}`;
  const known = firstSeen.get(key);
  const createdAt = known ?? new Date(now()).toISOString();
  if (known === undefined && firstSeen.size < MAX_NULLIFIERS) firstSeen.set(key, createdAt);
  return Response.json({
    success: true,
    action: request.action,
    nullifier: first.nullifier,
    created_at: createdAt,
    environment: request.environment,
    protocol_version: request.protocol_version,
    results,
    message:
      known === undefined ? "Proof verified successfully" : "Proof verified successfully (nullifier reuse)",
  });
}

function refuse(code: string, detail: string, results?: ItemResult[]): Response {
  return Response.json({ success: false, code, detail, ...(results && { results }) }, { status: 400 });
}
