/** Shares values of the approval page with the server, without a schema. */
import type { ApprovalRequest } from "#lib/protocol/approval/approval";

/** The end of a 503's detail if the service has the proof: the page needn't send it again. */
export const proofStored = "the proof is stored and will be checked again";

/** Requirements on the person, in the same words on the page and in the test wallet. */
export const levelWords = {
  orb: "World ID, verified with an Orb",
  device: "World ID, verified on this device or with an Orb",
  none: "A passkey of each required approver",
} as const satisfies Record<ApprovalRequest["required_level"], string>;

/** The last of them cancels the request. */
export const maxWrongCodes = 5;
