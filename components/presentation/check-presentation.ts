/**
 * Checks a presentation in the visitor's browser. The BBS code is large, so this module is imported only when a check
 * begins. The keys are those of GET /v1/pubkey.
 */
import { base64UrlDecode } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { verifyEd25519Strict } from "#lib/protocol/keys/ed25519";
import { findEndorsementFault } from "#lib/protocol/keys/key-endorsement";
import { checkPresentation as verify } from "#lib/verifier/checks/check-presentation";
import {
  readObject,
  requireIndex,
  requireObject,
  requireText,
  UnreadableError,
} from "#lib/verifier/checks/evidence";
import type { PresentationReport } from "#lib/verifier/checks/presentation-verify";
import { parseTrust, type VerifierTrust } from "#lib/verifier/checks/trust";

export interface PresentationQuestion {
  text: string;
  /** Empty: not asked for. */
  audience: string;
  nonce: string;
  nowSeconds: number;
}

export interface CheckedPresentation {
  report: PresentationReport;
  kid: string;
  /** Null if the Ed25519 key's endorsement of the BBS key holds. */
  endorsementFault: string | null;
}

/** The presentation itself, or the public proof of an answer of GET /v1/verify/:id. Throws UnreadableError. */
function findPresentation(text: string): JsonObject {
  // A parser's message about a picture or a letter would help nobody.
  if (!text.startsWith("{")) throw new UnreadableError("this is no presentation");
  const object = readObject(text);
  if ("zk" in object || "credential" in object || "messages" in object) {
    throw new UnreadableError(
      "this contains a credential, which is its owner's secret: don't share it. Create a presentation from it and check that",
    );
  }
  const inner = object["zk_proof"];
  if (inner === undefined) return object;
  if (!isJsonObject(inner)) throw new UnreadableError("this attestation has no zero-knowledge proof");
  return inner;
}

function listZkKeys(answer: JsonObject): JsonObject[] {
  const { keys } = requireObject(answer, "zk");
  return Array.isArray(keys) ? keys.filter(isJsonObject) : [];
}

function judgeEndorsement(answer: JsonObject, kid: string, trust: VerifierTrust): string | null {
  const key = listZkKeys(answer).find((one) => one["kid"] === kid);
  if (key === undefined) return "the key is not one of this service's";
  const publicKey = base64UrlDecode(requireText(key, "public_key"));
  const endorsement = requireObject(key, "endorsement");
  return findEndorsementFault(
    publicKey,
    {
      ...(endorsement["log_origin"] !== undefined && { logOrigin: requireText(endorsement, "log_origin") }),
      index: requireIndex(endorsement, "index"),
      payload: requireText(endorsement, "payload"),
      signature: requireText(endorsement, "signature"),
      key_id: requireText(endorsement, "key_id"),
    },
    trust.keys,
    verifyEd25519Strict,
  );
}

/** `pubkey`: the text of GET /v1/pubkey. Throws UnreadableError for what is no presentation at all. */
export async function checkPresentation(
  question: PresentationQuestion,
  pubkey: string,
): Promise<CheckedPresentation> {
  const presentation = findPresentation(question.text);
  const answer = readObject(pubkey);
  const trust = parseTrust(answer);
  const { audience, nonce, nowSeconds } = question;
  const report = await verify(presentation, trust, {
    nowSeconds,
    ...(audience === "" ? {} : { audience }),
    ...(nonce === "" ? {} : { nonce }),
  });
  const kid = typeof presentation["kid"] === "string" ? presentation["kid"] : "";
  return { report, kid, endorsementFault: judgeEndorsement(answer, kid, trust) };
}
