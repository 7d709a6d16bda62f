/** What went wrong on the way to an approval, in words: what happened, what it means, what can be done. */
import type { Problem } from "./post-json";

export interface Words {
  title: string;
  text: string;
  /** What the button under it does. */
  next: "start-again" | "proof-of-human" | "send-again" | "none";
}

const stillPending = "Nothing was decided; the request is still pending.";

/** By IDKit's error code. */
const walletWords: Record<string, Omit<Words, "next">> = {
  user_rejected: {
    title: "Refused in the wallet",
    text: `${stillPending} If you do not want this to happen, deny it, so that the agent stops.`,
  },
  verification_rejected: { title: "Refused in the wallet", text: stillPending },
  credential_unavailable: {
    title: "This World ID does not have the level that is needed",
    text: `${stillPending} Somebody whose World ID has that level can approve with the same link.`,
  },
  max_verifications_reached: {
    title: "Already approved with this World ID",
    text: "The wallet has given its proof for this request before. Each person can approve a request once.",
  },
  nullifier_replayed: {
    title: "Already approved with this World ID",
    text: "The wallet has given its proof for this request before. Each person can approve a request once.",
  },
  connection_failed: {
    title: "World's bridge cannot be reached",
    text: `${stillPending} Look at your connection and try again.`,
  },
  inclusion_proof_pending: {
    title: "This World ID is too new",
    text: `World is still adding it to its list of people. ${stillPending} Try again in an hour.`,
  },
  rp_signature_expired: { title: "The code was on the page for too long", text: stillPending },
  timestamp_too_old: { title: "The code was on the page for too long", text: stillPending },
  duplicate_nonce: { title: "The code was used before", text: stillPending },
  timeout: { title: "No answer from the wallet", text: stillPending },
  cancelled: { title: "Stopped", text: stillPending },
};

export function explainWalletError(code: string, preset: "device" | "orb"): Words {
  if (code === "world_id_3_not_available" && preset === "device") {
    return {
      title: "This wallet no longer makes device proofs",
      text: `${stillPending} It can prove that you were verified at an Orb, which is stronger and is accepted too.`,
      next: "proof-of-human",
    };
  }
  const known = walletWords[code];
  if (known !== undefined) return { ...known, next: "start-again" };
  return {
    title: "The wallet could not make the proof",
    text: `${stillPending} The wallet's word for it: ${code.replaceAll("_", " ")}.`,
    next: "start-again",
  };
}

/** By what the service answered to the start or to the proof. */
export function explainProblem({ status, code, detail }: Problem, hasProof: boolean): Words {
  if (status === 503 && hasProof) {
    return {
      title: "World cannot be reached to check the proof",
      text: "Your proof is kept and is sent again until the request expires. The request is still pending; this page shows the decision when there is one. You can leave it open or come back.",
      next: "none",
    };
  }
  if (status === 503) {
    return { title: "World ID cannot be reached", text: `${stillPending} ${detail}`, next: "start-again" };
  }
  if (status === 0 || status >= 500) {
    return {
      title: status === 0 ? "The service cannot be reached" : "The service failed",
      text: hasProof
        ? "Your proof is kept on this page. Do not close it, and send it again: a wallet does not make the same proof twice."
        : stillPending,
      next: hasProof ? "send-again" : "start-again",
    };
  }
  if (status === 429) {
    return {
      title: "Too many attempts",
      text: `${stillPending} Wait a minute.`,
      next: hasProof ? "send-again" : "start-again",
    };
  }
  if (code === "authorization_not_pending") {
    return {
      title: "This request was decided in the meantime",
      text: "Your approval was not needed or came too late. This page shows how it ended.",
      next: "none",
    };
  }
  if (code === "already_approved") {
    return {
      title: "You have approved this already",
      text: "Each person counts once, and nothing was changed. The approvals that are still missing must come from other people: send them this page's link.",
      next: "none",
    };
  }
  return { title: "The proof was not accepted", text: `${stillPending} ${detail}`, next: "start-again" };
}
