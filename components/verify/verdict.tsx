/**
 * One sentence for the public: what a verification came to, in words that an expert would sign and a stranger
 * understands. Pure: the page, the Open Graph image, the badge and the landing page all say the same.
 */
import type { HumanApproval } from "#lib/domain/statement";

export type VerdictKind = "valid" | "test" | "private" | "invalid" | "erased";

export interface VerdictFacts {
  readonly valid: boolean | null;
  readonly isPublic: boolean;
  readonly erasedAt: string | null;
  /** Null where it is hidden, erased or unreadable. */
  readonly approval: HumanApproval | null;
  /** Known of private attestations too. */
  readonly isApproved: boolean | null;
  /** Of a private attestation it is known where a zero-knowledge proof shows it. */
  readonly approvalMethod: HumanApproval["method"] | null;
  /** The approval came from the stand-in or from World's staging network. */
  readonly isTest: boolean;
  readonly keyStatus: "active" | "retired" | "revoked" | "unknown";
  /** Titles of the checks that failed. */
  readonly failed: readonly string[];
}

export interface Verdict {
  readonly kind: VerdictKind;
  /** One or a few words: "Valid", "Valid, with a TEST approval". */
  readonly title: string;
  readonly sentence: string;
  /** For a badge: lower case, no full stop. */
  readonly short: string;
  /** What a careful reader must know besides. */
  readonly notes: readonly string[];
}

const intact = "The record is intact, signed by this service and in its public log.";

function keyNotes(status: VerdictFacts["keyStatus"]): string[] {
  if (status === "retired") {
    return [
      "The key that signed it has been retired since. It was valid at this place in the log, so the signature still counts.",
    ];
  }
  if (status === "revoked") {
    return [
      "The key that signed it has been revoked since. Signatures from before the revocation's place in the log still count.",
    ];
  }
  return [];
}

const levels: Record<string, string> = { orb: "Orb", device: "device" };

/** "World ID, level Orb". The level is the service's word inside the signed bytes. */
export function describeLevel(level: string): string {
  return `World ID, level ${levels[level] ?? level}`;
}

/** What World ID proves of an approval: whose key it was made with, not that anybody looked at a page. */
function describeHumans(count: number): string {
  return count === 1 ? "A key of an enrolled human" : `Keys of ${count} different enrolled humans`;
}

function invalidVerdict({ failed }: VerdictFacts): Verdict {
  const which = failed.length === 0 ? "" : ` (${failed.join(", ")})`;
  const count = failed.length === 1 ? "One check" : `${failed.length} checks`;
  return {
    kind: "invalid",
    title: "Invalid",
    sentence: `${count} failed${which}. Do not rely on what this record says.`,
    short: "INVALID",
    notes: [],
  };
}

function erasedVerdict({ erasedAt }: VerdictFacts): Verdict {
  const when = erasedAt === null ? "" : ` on ${erasedAt.slice(0, 10)}`;
  return {
    kind: "erased",
    title: "Erased",
    sentence: `The owner had the content removed${when}. What it said cannot be checked any more; that a signed record with this hash was logged still can.`,
    short: "content erased",
    notes: [],
  };
}

/** Never better than what a stranger can be shown. */
function privateApproval({ isApproved, isTest, approvalMethod }: VerdictFacts): string {
  if (isTest) return " Its approval is a TEST approval, not a real person's.";
  if (approvalMethod === "hash") return " Its human approval is asserted by the caller, not proven.";
  if (approvalMethod === "proof_of_personhood")
    return " A key of a human enrolled with World ID approved it; what was approved, only the owner can show.";
  return isApproved === true
    ? " It records a human approval; how strong that evidence is, only the owner can show."
    : "";
}

function privateVerdict(facts: VerdictFacts): Verdict {
  const { isTest, keyStatus } = facts;
  return {
    kind: "private",
    title: isTest ? "Valid but private, with a TEST approval" : "Valid but private",
    sentence: `${intact} What it says is for its owner to show.${privateApproval(facts)}`,
    short: isTest ? "valid, private, TEST approval" : "valid, private",
    notes: keyNotes(keyStatus),
  };
}

function approvalWords(approval: HumanApproval | null): { sentence: string; short: string } {
  switch (approval?.method) {
    case "proof_of_personhood": {
      const humans = describeHumans(approval.nullifier_hashes.length);
      return {
        sentence: `${humans} approved exactly this, proven by ${describeLevel(approval.level)}.`,
        short: "approved with World ID",
      };
    }
    case "hash":
      return {
        sentence: "Its human approval is asserted by the caller, not proven.",
        short: "approval asserted, not proven",
      };
    default:
      return { sentence: "No human approval is recorded.", short: "no human approval" };
  }
}

function testVerdict({ keyStatus }: VerdictFacts): Verdict {
  return {
    kind: "test",
    title: "Valid, with a TEST approval",
    sentence: `${intact} Its approval was made with a test wallet: no real person is proven to have approved it.`,
    short: "valid, TEST approval",
    notes: keyNotes(keyStatus),
  };
}

export function decideVerdict(facts: VerdictFacts): Verdict {
  if (facts.valid === false) return invalidVerdict(facts);
  if (facts.valid === null) return erasedVerdict(facts);
  if (!facts.isPublic) return privateVerdict(facts);
  if (facts.isTest) return testVerdict(facts);
  const { sentence, short } = approvalWords(facts.approval);
  return {
    kind: "valid",
    title: "Valid",
    sentence: `${intact} ${sentence}`,
    short: `valid, ${short}`,
    notes: keyNotes(facts.keyStatus),
  };
}
