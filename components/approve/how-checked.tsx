/** Who checked each proof, and whether anybody can check it again without World (issue 3, items 3 and 4). */
import type { ApprovalView } from "#lib/contract/approval-view";

type Proof = ApprovalView["proofs"][number];

const levels: Record<Proof["level"], string> = {
  orb: "Orb",
  device: "device",
  proof_of_human: "proof of human",
};

export function explainProof({ level, verified_by, is_anchored }: Proof, isTest: boolean): string {
  const world = isTest ? "the stand-in for World" : "World";
  const name = `Level ${levels[level]}: `;
  if (!verified_by.includes("groth16-local"))
    return `${name}checked by ${world}, cannot be checked again independently.`;
  const checked = `${name}the zero-knowledge proof was checked by this service and by ${world}, and can be checked again by anybody.`;
  if (is_anchored) return `${checked} Its root stands on chain.`;
  return `${checked} That its root is World's own was ${world}'s word then and cannot be anchored again later.`;
}

interface HowCheckedProps {
  readonly proofs: readonly Proof[];
  readonly isTest: boolean;
}

export function HowChecked({ proofs, isTest }: HowCheckedProps) {
  const sentences = [...new Set(proofs.map((proof) => explainProof(proof, isTest)))];
  return sentences.map((sentence) => (
    <p key={sentence} className="mt-2 text-sm">
      {sentence}
    </p>
  ));
}
