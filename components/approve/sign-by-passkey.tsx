/** Asks the person's device to sign this request and decision, after the page was checked against its hash. */
import type { ApprovalView, SentAssertion } from "#lib/api/schemas/approval-view";
import { requestHash } from "#lib/protocol/approval/approval";
import { base64UrlEncode } from "#lib/protocol/encoding/bytes";
import {
  approvalChallenge,
  buildList,
  type PasskeyDecision,
  toRelyingParty,
} from "#lib/protocol/passkey/assertion";
import { findDifferences } from "./check-shown";

export type Signed =
  | { kind: "signed"; passkey: SentAssertion }
  | { kind: "different"; differences: string[] }
  | { kind: "failed"; title: string; text: string };

const nothing = "Nothing was decided.";

/** Explains why the browser gave no answer (WebAuthn level 3, section 5.1.4). */
function explain(error: unknown): Signed {
  const name = error instanceof Error ? error.name : "";
  if (name === "NotAllowedError" || name === "AbortError")
    return {
      kind: "failed",
      title: "No passkey was used",
      text: `${nothing} You cancelled, it took too long, or this device has no passkey for this site.`,
    };
  if (name === "SecurityError")
    return { kind: "failed", title: "The browser refuses passkeys on this address", text: nothing };
  return { kind: "failed", title: "This browser couldn't use a passkey", text: nothing };
}

/** The device offers its passkeys for this site: the page doesn't say who may decide. */
async function askDevice(origin: string, challenge: Uint8Array): Promise<Signed> {
  try {
    const { startAuthentication } = await import("@simplewebauthn/browser");
    const { rpId } = toRelyingParty(origin);
    const optionsJSON = {
      challenge: base64UrlEncode(challenge),
      rpId,
      userVerification: "required" as const,
      timeout: 120_000,
    };
    const { id, response } = await startAuthentication({ optionsJSON });
    const { authenticatorData, clientDataJSON, signature } = response;
    const passkey = {
      credential_id: id,
      authenticator_data: authenticatorData,
      client_data_json: clientDataJSON,
      signature,
    };
    return { kind: "signed", passkey };
  } catch (error) {
    return explain(error);
  }
}

export async function signByPasskey(view: ApprovalView, decision: PasskeyDecision): Promise<Signed> {
  const differences = findDifferences(view);
  if (differences.length > 0) return { kind: "different", differences };
  return askDevice(view.request.origin, approvalChallenge(requestHash(view.request), decision));
}

/** Signs once to approve the requests in this order: each is hashed again from what the page shows of it. */
export async function signList(views: readonly ApprovalView[]): Promise<Signed> {
  const differences = [...new Set(views.flatMap(findDifferences))];
  if (differences.length > 0) return { kind: "different", differences };
  const { challenge } = buildList(views.map(({ request }) => requestHash(request)));
  return askDevice(views[0]?.request.origin ?? "", challenge);
}

/** Null where the link alone decides. */
export const signIfRequired = async (
  view: ApprovalView,
  decision: PasskeyDecision,
): Promise<Signed | null> => (view.groups.length === 0 ? null : signByPasskey(view, decision));

export const explainUnsigned = (
  signed: Exclude<Signed, { kind: "signed" }>,
): { title: string; text: string } =>
  signed.kind === "failed"
    ? signed
    : {
        title: "This page doesn't match its hash",
        text: `${nothing} Reload the page, and report it if this stays.`,
      };
