/** What a verification says, for the command line and the verify page alike. */
import type { JsonValue } from "#lib/domain/canonical-json";
import type { PresentationHeader } from "#lib/domain/presentation-header";
import type { ActionStatement } from "#lib/domain/statement";
import type { AuthorizationReport } from "#lib/domain/verify-human-authorization";
import type { EvidenceKind } from "./evidence";

export interface VerifierCheck {
  name: string;
  status: "pass" | "fail" | "not_applicable" | "not_run";
  detail: string;
}

/**
 * `valid`: every check of the kind's fixed list ran and held. `invalid`: one failed. `incomplete`: none failed,
 * but the file does not carry all that the checks read (a private attestation without its payload, a bundle
 * without the authorization). `erased`: the owner had the content removed; the log still proves that it was there.
 */
export type Verdict = "valid" | "invalid" | "incomplete" | "erased";

export interface VerifierReport {
  kind: EvidenceKind;
  verdict: Verdict;
  /** One sentence for people. */
  sentence: string;
  checks: VerifierCheck[];
  /** Checks that had nothing to read. */
  missing: string[];
  /** Fields that the file shows and nothing in it proves. */
  unproven: string[];
  /** The signed statement; only of a valid or incomplete attestation, so that nothing unproven is shown as proven. */
  statement: ActionStatement | null;
  /** What a valid presentation, or the good public proof of a hidden payload, discloses; else empty. */
  disclosed: { name: string; value: JsonValue }[];
  /** For whom a valid presentation was made. */
  presentationHeader: PresentationHeader | null;
  /** The checks of the human_authorization, where one was verified. */
  authorization: AuthorizationReport | null;
  /** An approval made with the stand-in or on World's staging network. */
  isTest: boolean;
  /** What the file says about itself; never believed. Null where it says nothing. */
  claimed: boolean | null;
  /** The file says valid and the verifier says invalid, or the other way round. */
  disagrees: boolean;
}

/** What nobody compared: without the reader's own audience and nonce, a copy made for somebody else is valid too. */
export function listUncompared({ kind, verdict, checks }: VerifierReport): string[] {
  if (kind !== "presentation" || verdict !== "valid") return [];
  const open = checks.filter(
    ({ name, status }) => status === "not_applicable" && (name === "audience" || name === "nonce"),
  );
  return open.map(({ name }) => name);
}

const subjects: Record<EvidenceKind, string> = {
  attestation: "attestation",
  bundle: "attestation",
  human_authorization: "human authorization",
  presentation: "presentation",
  tlog_proof: "log proof",
};

export function sentenceFor(kind: EvidenceKind, verdict: Verdict, isTest: boolean): string {
  const subject = subjects[kind];
  const sentences: Record<Verdict, string> = {
    valid: `This ${subject} is valid${isTest ? ", with a TEST approval that says nothing about a person" : ""}.`,
    invalid: `This ${subject} is NOT valid: a check failed.`,
    incomplete: `Nothing failed, but not everything about this ${subject} could be checked from this file.`,
    erased: `The content of this ${subject} was erased by its owner; the log proves that it was recorded.`,
  };
  return sentences[verdict];
}
