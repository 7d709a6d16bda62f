/**
 * Responses of World other than an approval, in a sentence for the person who wanted to give one. Closed: a test holds
 * the first table against IDKit's own list of codes, so that a new one is not met for the first time on a page.
 */

export interface CodeWords {
  title: string;
  text: string;
}

const tooLong = {
  title: "The code on this page is too old",
  text: "World accepts a code for a few minutes only. Start again for a fresh one.",
};
const wrongClock = {
  title: "The clocks of this service and of World differ",
  text: "World refused the time in the request. Try again; if it happens again, tell the organization that asked you.",
};
const alreadyGiven = {
  title: "Already approved with this World ID",
  text: "The wallet has given its proof for this request before. Each person can approve a request once.",
};
const notAccepted = "Only the operator of this service can mend that. Tell the organization that asked you.";

/** Codes of IDKit's hook: the wallet's answers, World's network and the page's own. */
export const idkitWords: Readonly<Record<string, CodeWords>> = {
  user_rejected: {
    title: "Refused in the wallet",
    text: "If you do not want this to happen, deny the request, so that the agent stops.",
  },
  verification_rejected: {
    title: "Refused in the wallet",
    text: "The wallet did not confirm the request. If you do not want this to happen, deny it.",
  },
  credential_unavailable: {
    title: "This World ID does not have the credential that is needed",
    text: "Someone whose World ID has it can approve with the same link.",
  },
  feature_unavailable: {
    title: "This wallet cannot answer such a request",
    text: "It lacks a feature that the request needs. Update the World App and try again.",
  },
  world_id_4_not_available: {
    title: "This wallet has no World ID 4.0",
    text: "Update the World App, or set up World ID 4.0 in it, and try again.",
  },
  world_id_3_not_available: {
    title: "This wallet no longer makes World ID 3.0 proofs",
    text: "New wallets make World ID 4.0 proofs only, and this request was for the older kind.",
  },
  malformed_request: {
    title: "The wallet could not read the request",
    text: "It called the request malformed. Update the World App and try again.",
  },
  invalid_network: {
    title: "The wallet is on another network",
    text: "It belongs to World's test network and this request to the real one, or the other way round. Use another wallet.",
  },
  inclusion_proof_pending: {
    title: "This World ID is too new",
    text: "World is still adding it to its list of people. Try again in an hour.",
  },
  inclusion_proof_failed: {
    title: "World could not find this World ID",
    text: "The wallet could not fetch the proof that it is on World's list of people. Try again in a few minutes.",
  },
  unexpected_response: {
    title: "The wallet's answer could not be read",
    text: "It was not of the kind that was asked for. Update the World App and try again.",
  },
  connection_failed: {
    title: "World's bridge cannot be reached",
    text: "Check your connection and try again.",
  },
  max_verifications_reached: alreadyGiven,
  failed_by_host_app: {
    title: "This page could not take the answer",
    text: "The wallet answered, and the page did not accept it. Try again.",
  },
  user_presence_failed: {
    title: "The wallet could not confirm that it was you",
    text: "Its own check of your presence failed. Try again.",
  },
  invalid_rp_signature: {
    title: "World does not accept this service's signature",
    text: notAccepted,
  },
  nullifier_replayed: alreadyGiven,
  duplicate_nonce: {
    title: "The code was used before",
    text: "Each code works once. Start again for a fresh one.",
  },
  unknown_rp: { title: "World does not know this service", text: notAccepted },
  inactive_rp: { title: "This service's registration with World is not active", text: notAccepted },
  timestamp_too_old: tooLong,
  timestamp_too_far_in_future: wrongClock,
  invalid_timestamp: wrongClock,
  rp_signature_expired: tooLong,
  identity_attributes_not_matched: {
    title: "This World ID does not match what was asked",
    text: "The wallet compared the attributes in the request with yours, and they differ.",
  },
  generic_error: {
    title: "No proof arrived",
    text: "Something failed in the wallet, on the way or on this page; no reason was given. Try again.",
  },
  invalid_rp_id_format: { title: "World does not accept this service's id", text: notAccepted },
  timeout: {
    title: "No answer from the wallet",
    text: "It did not answer in time. Start again and confirm in the wallet.",
  },
  cancelled: { title: "Stopped", text: "The request to the wallet was stopped on this page." },
};

interface PortalWords {
  text: string;
  /** Says nothing about the proof: to be asked again, because a wallet does not make the same proof twice. */
  isTransient?: true;
}

const unknownRoot = "World does not know the list of people that the proof is about";
const settings = "World does not accept requests from this service; its operator has to mend that";

/** Codes of World's Developer Portal (POST /api/v4/verify), of an item and of the whole answer. */
const portalWords = {
  invalid_proof: { text: "World found that the proof does not verify" },
  invalid_merkle_root: { text: unknownRoot },
  invalid_root: { text: unknownRoot },
  root_too_old: { text: "the proof was made too long ago; make a new one" },
  outdated_nullifier: { text: "the proof was made too long ago; make a new one" },
  nullifier_from_future: { text: "the proof's time is in the future; check the phone's clock" },
  invalid_credential_issuer: { text: "World does not know who issued the credential" },
  invalid_public_input: { text: "the proof names a number that is out of range" },
  invalid_format: { text: "World could not read the proof" },
  prover_error: { text: "World could not check the proof just now", isTransient: true },
  verification_failed: { text: "World could not confirm the proof" },
  verification_error: { text: "World could not confirm the proof" },
  generic_error: { text: "World could not confirm the proof, and gave no reason" },
  all_verifications_failed: { text: "World found no valid proof in the wallet's answer" },
  environment_mismatch: { text: "the proof was made on another World ID network" },
  environment_not_allowed: { text: "World does not accept proofs of its test network from this service" },
  protocol_version_not_allowed: { text: "World does not accept this version of World ID here" },
  integrity_verification_failed: { text: "World could not confirm that the wallet is a genuine World App" },
  validation_error: { text: "World could not read the request about the proof" },
  invalid_request: { text: "World could not read the request about the proof" },
  app_not_migrated: { text: settings },
  rp_not_active: { text: settings },
  not_found: { text: settings },
  configuration_error: { text: "World is not ready to check proofs just now", isTransient: true },
  internal_error: { text: "World failed while it checked the proof", isTransient: true },
  // The service's own, about an answer that is no yes.
  identifier_missing: { text: "World's answer says nothing about this proof" },
  nullifier_mismatch: { text: "World's answer is about another proof" },
  refused: { text: "World refused the proof and gave no reason" },
} as const satisfies Record<string, PortalWords>;

export type PortalCode = keyof typeof portalWords;

const isPortalCode = (code: string): code is PortalCode => Object.hasOwn(portalWords, code);

export function findIdkitWords(code: string): CodeWords | undefined {
  return Object.hasOwn(idkitWords, code) ? idkitWords[code] : undefined;
}

export function explainPortalCode(code: string): PortalWords {
  if (isPortalCode(code)) return portalWords[code];
  return {
    text: `World refused the proof, for a reason that this service does not know (${code.slice(0, 64)})`,
  };
}
