/**
 * The checks in words: what is asked, and how anyone can ask it again. One source for every page that lists them.
 * Too long for a browser's scripts: a server component hands on what a page shows. Titles are in check-titles.tsx.
 */
import type { AttestationCheckName } from "#lib/verifier/checks/verify-statement";

export interface CheckText {
  readonly question: string;
  /** Plain words; commands are on the page's own list. */
  readonly repeat: string;
}

export const checkTexts: Record<AttestationCheckName, CheckText> = {
  payload_hash: {
    question: "Do the signed bytes have the stated SHA-256, and are they this attestation's statement?",
    repeat:
      "Download the payload and run sha256sum over it. The result must be payload_hash. Its attestation_id, agent and key must be the ones on this page.",
  },
  signature: {
    question: "Did this service's key sign exactly these bytes (Ed25519)?",
    repeat:
      "Run the openssl lines below: they fetch payload, signature and public key and verify one against the other. The envelope's signature is over the DSSE pre-authentication encoding of the same bytes.",
  },
  key_validity: {
    question: "Was the signing key valid at this position in the log?",
    repeat:
      "In /v1/pubkey, find the key by key_id. The log index must be at or after valid_from_index, and before valid_to_index if there is one.",
  },
  log_inclusion: {
    question: "Is this attestation's entry in the tree whose root the log has signed?",
    repeat:
      "Hash the entry as an RFC 6962 leaf (a 0x00 byte in front), combine it with the inclusion proof in order, and compare the result with the root in the checkpoint.",
  },
  checkpoint_signature: {
    question: "Did the log sign this root and size?",
    repeat:
      "The checkpoint is a C2SP signed note: verify its signature line with the log's vkey from /v1/pubkey, for example with Go's sumdb/note package.",
  },
  agent_signature: {
    question: "Did the agent's registered key sign the request?",
    repeat:
      "Take predicate.request out of the payload, write it as RFC 8785 canonical JSON, and verify agent_signature over it with predicate.registered.agent_public_key. The outcome must equal the recorded verdict.",
  },
  code_hash: {
    question: "Is the reported code hash the registered one?",
    repeat: "Compare predicate.request.code_hash with predicate.registered.code_hash in the payload.",
  },
  tools: {
    question: "Is every tool used listed in the agent's registered manifest?",
    repeat:
      "The tool manifest's SHA-256 must be predicate.registered.tool_manifest_hash, and every entry of predicate.request.tools_used must be in it.",
  },
  human_authorization: {
    question:
      "Does the embedded authorization fit this attestation, and do its zero-knowledge proofs verify?",
    repeat:
      "Derive request_hash from the authorization's request, the World ID action and signal from that, and verify each Groth16 proof over them. The offline verifier does this in one command.",
  },
  zk_proof: {
    question: "Did this service's BBS key sign the disclosed values, and do they agree with the payload?",
    repeat:
      "Verify the proof under the BBS key from /v1/pubkey (BBS_BLS12381G1_XMD:SHA-256_SSWU_RO_). The offline verifier does this in one command.",
  },
  record: {
    question: "Does it have its place in the agent's record, between its neighbours and under the head?",
    repeat:
      "Hash the link before it, its number and payload_hash as docs/wire.md says. The result must be the next entry's previous, or the head's link if it is the last one.",
  },
  not_before: {
    question: "Was it made after something that nobody could know earlier?",
    repeat:
      "If predicate.not_before names a checkpoint, fetch /log/cosigned/<checkpoint_hash>: its SHA-256 must be checkpoint_hash, and its witnesses' cosignatures state their times. If it names a round of drand, that round's time. The timestamp must not be earlier.",
  },
  not_after: {
    question: "Did others see it in the log, and when at the latest?",
    repeat:
      "Fetch /v1/verify/<id>/anchors: each checkpoint must cover the entry, by its inclusion proof. The witnesses' cosignatures state their times, and openssl ts -verify checks each time stamp over the checkpoint's first three lines. The timestamp must not be later.",
  },
};
