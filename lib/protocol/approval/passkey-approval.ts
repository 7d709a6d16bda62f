/** An enrolled approver's approval: a passkey's signature over the request, and its place in the organization's roster. */
import type { GroupOpening, RosterEntry, RosterHead } from "#lib/protocol/passkey/roster-shape";

export interface PasskeyApproval {
  type: "passkey";
  /** A pseudonym: the person's id in the organization. */
  approver_id: string;
  /** base64url of the COSE key; base64url too are the next three. */
  credential_public_key: string;
  authenticator_data: string;
  client_data_json: string;
  signature: string;
  verified_at: string;
  /** Nullifier of the World ID proof from the same visit, if the request asks for a level. */
  nullifier_hash?: string;
  /** `proof`: base64, from the entry's sibling upwards. */
  roster: { head: RosterHead; entry: RosterEntry; index: number; proof: string[] };
  /** Open those of the entry's groups that the request requires. */
  groups: GroupOpening[];
}
