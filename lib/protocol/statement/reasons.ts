/**
 * Reasons why a check did not pass: one closed list of codes for programs, each with its words for people. A code names what
 * was found, the check's own name says where. Codes are part of the wire; words may change.
 */

export const reasons = {
  // The payload
  payload_private: "the payload is private",
  payload_erased: "the payload was erased",
  payload_lost: "the payload is gone, and no erasure is recorded",
  payload_not_erased: "an erasure is recorded, and yet the payload is there",
  owner_only: "checked by the service; details are visible to the owner only",
  nothing_to_compare: "nothing to compare",
  not_requested: "not asked for; {option} asks for it",
  earlier_check_failed: "an earlier check failed",

  // The signed statement
  payload_hash_mismatch: "the payload does not have the hash that was recorded",
  statement_malformed: "the payload is not a canonical statement about an agent's action",
  attestation_mismatch: "this is not the attestation that was asked for",
  agent_mismatch: "the payload is about another agent",
  key_mismatch: "the payload names another signing key",
  visibility_mismatch: "the payload has another visibility",
  key_unknown: "key {key} is not one of the service's keys",
  key_id_mismatch: "the key id is of another key",
  key_out_of_range: "index {index} is outside the key's {range}",
  signature_invalid: "the Ed25519 signature does not verify",
  envelope_signature_invalid: "the envelope's signature does not verify",
  verdict_mismatch: "recorded {recorded}, recomputed {recomputed}",
  tool_manifest_absent: "the registered tool manifest is not in this file",

  // The log
  checkpoint_malformed: "not a signed checkpoint",
  checkpoint_of_another_log: "a checkpoint of another log",
  checkpoint_signature_invalid: "the log's key did not sign this checkpoint",
  post_quantum_absent:
    "the checkpoint has no signature by ML-DSA-44; an answer that is read a second later has one",
  post_quantum_invalid: "the log's ML-DSA-44 key did not sign this checkpoint",
  post_quantum_lost:
    "the log's checkpoints had a signature by ML-DSA-44, or its key for one is known, and this one has none",
  checkpoint_mismatch: "origin or size differs from the checkpoint",
  entry_absent: "no log entry is in this file",
  entry_malformed: "the log entry is malformed",
  entry_payload_mismatch: "the log entry is about another payload",
  entry_signature_mismatch: "the log entry has another signature",
  entry_key_mismatch: "the log entry names another key",
  entry_key_unknown: "the log entry names no key that is trusted for this index",
  entry_envelope_mismatch: "the log entry is not that of the signed envelope",
  entry_decision_mismatch: "the log entry is not that of this approval",
  entry_missing: "entry {index} of {size} is missing",
  inclusion_proof_invalid: "the inclusion proof does not lead to the root",
  key_retired_without_entry: "its key does not sign any more, and no log entry shows that it did so in time",
  nothing_remembered: "no checkpoint was remembered",
  remembered_checkpoint_invalid: "the remembered checkpoint: {problem}",
  another_log: "another log than the remembered one, {origin}",
  log_shrunk: "smaller than the remembered size {size}: entries were taken back",
  log_forked: "does not extend the remembered tree of {size}: the log was forked or rewritten",
  log_unreadable: "the log's files do not hold the tree: {problem}",
  tile_missing: "tile {tile} is missing",
  tile_too_short: "tile {tile} is too short",
  tile_mismatch: "tile {tile} differs from the entries",
  log_root_mismatch: "the root of {size} entries is {root}, not the one claimed",

  // The agent's record
  record_not_shown: "the entries beside it in the agent's record are not in this file",
  record_mismatch: "the payload has another place in the agent's record",
  record_broken: "it does not fit number {number} of the agent's record",
  record_number_missing: "number {number} is missing",
  record_out_of_order: "number {number} is earlier in the log than the number before it",
  record_entry_mismatch: "number {number} is another payload than the one that was signed with that number",
  record_entry_absent: "the record does not have number {number}, which a receipt has",
  record_amended_open:
    "number {number} approves a changed request, and the request that it changes was cancelled only at number {later}",
  record_receipt_invalid: "a receipt does not verify",
  record_nothing_public: "nothing in the record is public",
  record_no_receipts: "no receipts were given to compare with",
  record_of_another: "it is the record of another agent, {slug}",
  record_head_mismatch: "the head, number {number}, is not where the {found} entries lead",
  page_unending:
    "the page from number {from} on leads nowhere: it is empty, skips a number, or names another page than the next",
  nothing_counted: "the service has signed no count of this log yet: its records are not counted",
  record_not_counted:
    "no signed count shows that number {number} is the last: what may follow is not counted",
  record_tail_not_counted:
    "counted to number {counted} of {number}, at {time}: what follows is not counted yet",
  count_not_fresh:
    "the last signed count is of {time}, by this machine's clock not within {hours} hours: what came after is not counted",
  snapshot_not_made: "no snapshot counts an entry of this record yet",
  snapshot_malformed: "the snapshot is not what it must be, or another agent's",
  snapshot_unsigned: "the snapshot's statement is not in the log under a trusted key",
  snapshot_proof_invalid: "the row is not in the snapshot that was signed",
  snapshot_mismatch: "the snapshot has another head at number {number}",
  snapshot_count_mismatch:
    "the snapshot counts {counted} entries, and number {number} is on the wrong side of it",
  sum_not_run: "not asked for",
  sum_rows_mismatch: "the rows are not those of the signed statement",
  sum_statement_invalid:
    "statement {number} of the service is not signed by a trusted key, or is listed twice",
  sum_list_cut: "the list of statements does not have the count itself, leaf {index}",
  sum_mismatch: "{leaves} leaves, and {counted} of them are counted",

  // Proofs of misbehaviour
  proof_unknown: "not a proof of a kind that this verifier knows",
  proof_unsigned: "what it rests on is not signed by a trusted key, or not in the log",
  proof_shows_nothing: "what was signed fits together: nothing is proven",
  proof_is_testimony: "what its writer saw, which nobody has signed",
  statement_not_logged: "statement {number} is not in the log where the list has it",
  chain_link_invalid: "its receipt does not hold: {check}",
  chain_broken: "the file of {id} is not the attestation that is named: another payload hash or another log",
  chain_payload_absent: "its payload is not in the file, and so not by whose authority it acted",
  chain_file_absent: "it acted by the authority of {id} in {origin}, whose receipt was not given",
  chain_stray: "{id} is no part of the chain",
  witness_saw_nothing: "the witness has cosigned nothing of this log",
  snapshot_shrank: "a record has fewer entries, or other ones, than in the snapshot that was remembered",

  // The human's approval
  approval_not_recorded: "no human approval was recorded",
  approval_asserted_only: "asserted by the caller, not proven",
  authorization_absent: "the authorization that the payload names is not in this file",
  authorization_missing: "the authorization that the payload names is missing",
  authorization_unexpected: "an authorization is there, but the payload records none",
  authorization_malformed: "the authorization is malformed",
  authorization_mismatch: "the authorization does not fit the attestation: {field}",
  binding_mismatch: "does not follow from the request",
  shown_content_absent: "what the approval page showed (details, names, who asks) is not in this file",
  shown_content_mismatch: "the details, the names or who asks are not those that the approval covers",
  not_amended: "no approver changed the request",
  amendment_of_another: "the request that was changed is not the one that this one names",
  amendment_not_allowed: "{field} was changed, which the request didn't allow",
  amendment_widens: "the change widens {what}",
  amender_absent: "the approver who changed the request didn't sign it",
  opening_malformed: "the opening is not of the shape of one",
  opening_foreign: "the opening belongs to another approval",
  opening_mismatch: "{what} of the opening is not what was signed",
  opening_unsupported: "the approval has no hash of each entry: it opens as a whole",
  opening_without_approval: "an opening without the approval that it belongs to",
  approvals_unexpected: "a {kind} decided, and yet there are approvals of people",
  grant_needs_people: "only people can give a standing approval",
  grant_exceeded: "more than the standing approval allows: {what}",
  grant_amounts_mismatch: "the amounts do not fit those of the standing approval",
  grant_absent: "the standing approval that covers it is not in this file",
  rules_absent: "the rules that allowed it are not in this file",
  usable_until_mismatch: "its end does not follow from the request",
  approval_ended: "the approval ended at {until}, before it was used",
  nobody_asked: "no person was asked",
  approval_count_mismatch: "{given} approvals where {required} are required",
  versions_mixed: "approvals of different protocol versions cannot be told apart by human",
  human_repeated: "one human counts twice",
  environments_mixed: "approvals from different environments or apps",
  environment_mismatch: "the environment is not that of the approvals",
  level_too_low: "less than {required}",
  no_world_id: "no World ID proof was required",
  level_not_required: "no World ID was required",
  not_in_time: "not approved while the request was open",
  credential_expired: "a credential need not have been valid when the request was made",
  checked_by_world_only:
    "checked by World, cannot be checked again independently: World's v4 key or the anchor is missing",
  anchor_absent: "not every root has a recorded place on chain",
  anchor_mismatch: "an anchor is of another root",
  anchor_differs: "the chain says another {field}",
  not_on_chain: "at block {block}: {problem}",
  chain_unreachable: "World Chain {problem}",
  malformed_proof: "the proof is malformed",
  nullifier_out_of_range: "the nullifier is out of range",
  root_mismatch: "the proof and its root do not belong together",
  wrong_issuer: "the credential is not a proof of human",
  pairing_failed: "the zero-knowledge proof does not verify over this request",

  // An enrolled approver's passkey
  passkey_malformed: "the passkey's answer is malformed: {part}",
  passkey_type_wrong: "the passkey did not sign in: the answer is of another kind",
  passkey_challenge_mismatch: "the passkey signed another request or another decision",
  passkey_origin_mismatch: "the passkey was used on another site",
  passkey_cross_origin: "the passkey was used inside another site's page",
  passkey_site_mismatch: "the passkey belongs to another site",
  passkey_user_absent: "nobody touched the authenticator",
  passkey_user_unverified: "the device was not unlocked by its user",
  passkey_backup_contradictory: "a passkey that can't be backed up says that it is",
  passkey_key_unsupported:
    "the passkey's key is neither ES256, EdDSA, RS256 nor ML-DSA-44 in its canonical form",
  passkey_key_malformed: "the passkey's key is malformed",
  passkey_signature_invalid: "the passkey's signature does not verify",
  list_malformed: "the branch does not fit a list of {size}",
  list_repeated: "the list that was signed has this request twice",
  list_not_allowed:
    "a request that needs World ID, asks for a standing approval or is a counter-offer can't be approved in a list",
  roster_malformed: "the roster's {part} is malformed",
  roster_proof_invalid: "the passkey is not in the roster that is named",
  roster_of_another: "the roster is another organization's",
  roster_entry_mismatch: "the roster's entry is of another person or passkey",
  roster_time_mismatch: "the roster of {time} was not the one when the approval was given",
  deputy_out_of_time: "the person was a deputy from {from} to {until}, and approved at another time",
  deputy_of_requester: "who asked is the deputy, or the person whom the deputy stands in for",
  roster_group_mismatch: "the roster does not have this passkey in the group",
  roster_broken: "roster {number} of the organization is missing, changed or does not follow the one before",
  roster_changed:
    "{count} new since the last run; the newest is number {number} of {at}: if you know it, accept it with --roster {hash}",
  roster_unexpected: "the newest is number {number}, {hash}: not the one that you expect",
  no_passkey: "no enrolled approver's passkey was required",
  no_group_required: "no group was required",
  passkey_unexpected: "a passkey is there, and no group was required",
  approver_repeated: "one approver counts twice",
  requester_counted: "who asked counts as an approver, which was not allowed",
  group_not_enough: "{given} of {required} approvers of the group {group}",
  nullifier_unpaired: "the World ID proofs are not those of the enrolled approvers",

  // Zero-knowledge proofs of attestations
  zk_proof_absent: "the zero-knowledge proof is not in this file",
  zk_proof_missing: "the zero-knowledge proof that the payload names is missing",
  zk_proof_not_shown: "no zero-knowledge proof is shown",
  zk_not_enabled: "no zero-knowledge proof was asked for",
  zk_proof_unexpected: "a zero-knowledge proof is there, but the payload names none",
  zk_proof_malformed: "malformed: {problem}",
  zk_proof_invalid: "the proof does not verify",
  zk_suite_unknown: "unknown type, ciphersuite or schema",
  zk_key_revoked: "the BBS key was revoked: without the payload, the proof shows nothing",
  zk_key_mismatch: "the payload names another BBS key",
  zk_header_mismatch: "not the header of this schema",
  presentation_header_malformed: "not a presentation header",
  message_count_mismatch: "not {count} messages in total",
  proof_length_mismatch: "the proof does not have {bytes} bytes",
  index_out_of_range: "an index is not one of 0 to 23",
  blinding_disclosed: "the blinding message is never disclosed",
  public_messages_mismatch: "not exactly the messages of a public proof",
  message_malformed: 'message {index} is not the canonical ["{name}",value]',
  audience_not_given: 'made for "{audience}"; no audience was given to compare with',
  audience_mismatch: "made for another audience",
  nonce_not_given: "no nonce was given to compare with",
  nonce_mismatch: "does not answer this nonce",
  attestation_not_given: "no attestation was given to compare with",
  payload_not_given: "no payload was given to compare with",
  payload_hash_not_disclosed: "payload_hash is not disclosed, so nothing binds this payload to it",
  payload_mismatch: "it is about another payload",
  never_expires: "a public proof does not expire",
  time_not_given: "no time was given to judge by",
  issued_in_future: "made in the future",
  expired: "expired",

  // When it was made
  no_lower_bound: "no independent lower bound: nobody outside had vouched for the time before it was made",
  no_upper_bound: "no independent upper bound: nobody outside is known to have seen it in the log",
  time_evidence_absent: "the cosigned checkpoint that it was made after is not in this file",
  time_untrusted: "nobody who is trusted here vouches for this time",
  cosigned_checkpoint_mismatch: "the cosigned checkpoint is not the one that the payload names",
  cosignature_invalid: "a witness's cosignature does not verify",
  beacon_invalid: "the round of drand does not verify",
  time_too_early: "says {stated}, but names what nobody knew before {bound} ({who})",
  time_too_late: "says {stated}, but was in the log at {bound} ({who})",
  anchor_proof_invalid: "the proof does not lead to the checkpoint of size {size}",
  time_stamp_invalid: "a time stamp does not count: {problem}",

  // Repeated fields
  field_mismatch: "{field} differs from the payload",
  field_unbacked: "{field} is shown without a payload that holds it",
  field_contradicted: "{field} differs from {source}",
  bundle_hint_mismatch: "the bundle names another key, log or attestation",
  bundle_time_too_early: "the bundle's integratedTime is before the attestation was made",
  bundle_time_in_future: "the bundle's integratedTime is in the future",
} as const;

export type Reason = keyof typeof reasons;

export const reasonCodes = Object.keys(reasons) as [Reason, ...Reason[]];

type NamesIn<Words extends string> = Words extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never;

/** The values that words need: nothing for words without a `{name}` in them. */
export type ValuesIn<Words extends string> = [NamesIn<Words>] extends [never]
  ? []
  : [values: Record<NamesIn<Words>, string | number>];

export type ValuesOf<Code extends Reason> = ValuesIn<(typeof reasons)[Code]>;

export function explain<Code extends Reason>(code: Code, ...[values]: ValuesOf<Code>): string {
  if (values === undefined) return reasons[code];
  const known: Record<string, string | number> = values;
  return reasons[code].replace(/\{(\w+)\}/g, (_, name: string) => String(known[name]));
}
