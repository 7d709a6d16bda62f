/** Failures on the way to an approval, in words: what happened, what it means, what can be done. */
import { proofStored } from "#lib/api/schemas/approval-page";
import type { WalletPreset, WorldIdStart } from "#lib/api/schemas/approval-view";
import { findIdkitWords } from "#lib/api/schemas/world-id-codes";
import { sentence } from "#lib/protocol/text/display-text";
import { explainRefusal, type Problem } from "./post-json";

export interface Words {
  title: string;
  text: string;
  /** Action of the button under it. */
  next: "start-again" | "proof-of-human" | "device-legacy" | "send-again" | "none";
}

const stillPending = "Nothing was decided. The request is still pending.";

export interface AskedPresets {
  start: Pick<WorldIdStart, "preset" | "fallback">;
  preset: WalletPreset;
  /** True if the code or link for the wallet has been on this page. */
  isShown: boolean;
}

/** World's code fails in this browser before any wallet has heard of the request. */
const notPrepared = {
  title: "This page couldn't prepare the request",
  text: "World ID's code didn't start in this browser, so no wallet was asked. Reload the page and try again.",
};

/** Codes that another preset may help with. */
const lacking = new Set(["credential_unavailable", "world_id_4_not_available", "feature_unavailable"]);

function chooseNext(code: string, { start, preset }: AskedPresets): Words["next"] {
  const isFallback = preset !== start.preset;
  if (isFallback && code === "world_id_3_not_available") return "proof-of-human";
  if (!isFallback && start.fallback !== null && lacking.has(code)) return "device-legacy";
  return "start-again";
}

/** Explains an IDKit error code. */
export function explainWalletError(code: string, asked: AskedPresets): Words {
  const known = code === "generic_error" && !asked.isShown ? notPrepared : findIdkitWords(code);
  const next = chooseNext(code, asked);
  if (known === undefined) {
    return {
      title: "No proof arrived",
      text: `${stillPending} The reason given is unknown to this page: ${code.replaceAll("_", " ")}.`,
      next,
    };
  }
  const other = next === "device-legacy" ? " A World ID verified on a device is also enough." : "";
  return { title: known.title, text: `${stillPending} ${known.text}${other}`, next };
}

/** No answer, or none that says what has become of it. */
function explainLoss(status: number, detail: string, hasProof: boolean): Words {
  const reason = detail === "" ? "The service failed." : sentence(detail);
  const what = status === 0 ? "We lost the connection." : reason;
  if (!hasProof)
    return {
      title: "World ID couldn't be started",
      text: `${what} No wallet was asked, and you haven't decided anything.`,
      next: "start-again",
    };
  if (detail.endsWith(proofStored))
    return {
      title: "Your proof is saved and not checked yet",
      text: `${what} It is tried until the request expires. You can leave this page open or come back later.`,
      next: "none",
    };
  return {
    title: "Your approval isn't confirmed",
    text: `${what} We don't know whether your proof was saved. Keep this page open and send it again: it counts once, and a wallet won't make the same proof twice.`,
    next: "send-again",
  };
}

/** Explains the service's answer to the start or to the proof. */
export function explainProblem({ status, code, detail }: Problem, hasProof: boolean): Words {
  if (status === 0 || status >= 500) return explainLoss(status, detail, hasProof);
  if (status === 429) {
    return {
      title: "Too many attempts",
      text: `${stillPending} Wait a minute.`,
      next: hasProof ? "send-again" : "start-again",
    };
  }
  if (code === "confirmation_code_wrong") {
    return {
      title: "The confirmation code is wrong",
      text: "Nothing was decided. Check the code and start again.",
      next: "start-again",
    };
  }
  if (code === "authorization_not_pending") {
    return {
      title: "This request has already been decided",
      text: "Your approval wasn't needed or came too late. The outcome is shown here.",
      next: "none",
    };
  }
  if (code === "already_approved") {
    return {
      title: "You've already approved this",
      text: "Each person counts once, so nothing changed. The missing approvals must come from other people. Send them this page's link.",
      next: "none",
    };
  }
  if (code === "rule_forbids" || code === "rule_demands_more") {
    return {
      title: "The organization's rules have changed",
      text: `${stillPending} ${detail.charAt(0).toUpperCase()}${detail.slice(1)}. You can deny the request.`,
      next: "none",
    };
  }
  return {
    title: "The proof was not accepted",
    text: `${explainRefusal("Nothing was decided", detail)} The request is still pending.`,
    next: "start-again",
  };
}
