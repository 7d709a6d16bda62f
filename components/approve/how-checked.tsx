/** The checker of each proof, and whether anyone can repeat the check without World. */
import type { ApprovalView } from "#lib/api/schemas/approval-view";

type Proof = ApprovalView["proofs"][number];

const levels: Record<Proof["level"], string> = {
  orb: "Orb",
  device: "device",
  proof_of_human: "proof of human",
};

const worlds: Record<ApprovalView["environment"], string> = {
  production: "World",
  staging: "World's staging network",
  local: "the stand-in for World",
};

/** Names the evidence for the root. Only the root makes a valid proof one of a person. */
function explainRoot({ level, is_anchored }: Proof, environment: ApprovalView["environment"]): string {
  if (environment === "local") return "Its root comes from the stand-in and isn't on chain.";
  if (is_anchored) return "Its root is on chain.";
  if (level === "device") return "Its root can't be anchored again later.";
  return "No block with its root was recorded.";
}

export function explainProof(proof: Proof, environment: ApprovalView["environment"]): string {
  const world = worlds[environment];
  const name = `Level ${levels[proof.level]}: `;
  if (!proof.verified_by.includes("groth16-local"))
    return `${name}checked by ${world}. It can't be checked again independently.`;
  return `${name}the zero-knowledge proof was checked by this service and by ${world}, and anyone can check it again. ${explainRoot(proof, environment)}`;
}

interface HowCheckedProps {
  readonly proofs: readonly Proof[];
  readonly environment: ApprovalView["environment"];
}

export function HowChecked({ proofs, environment }: HowCheckedProps) {
  const sentences = [...new Set(proofs.map((proof) => explainProof(proof, environment)))];
  return sentences.map((sentence) => (
    <p key={sentence} className="mt-2 text-sm">
      {sentence}
    </p>
  ));
}
