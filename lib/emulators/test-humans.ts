/**
 * Five test humans and the two trees that they are in: World keeps one for Orbs and one for devices. Their secrets are
 * public constants, so their approvals say nothing about a person.
 */
import { utf8Encode } from "#lib/protocol/encoding/bytes";
import { hashToField } from "#lib/protocol/world-id/world-id-proof";
import { loadPoseidon } from "./development-modules";

const TREE_DEPTH = 16;
export type LocalLevel = "device" | "orb";

export interface TestHuman {
  id: string;
  name: string;
  levels: readonly LocalLevel[];
}

export const testHumans: readonly TestHuman[] = [
  { id: "ada", name: "Ada", levels: ["orb", "device"] },
  { id: "grace", name: "Grace", levels: ["orb", "device"] },
  { id: "hedy", name: "Hedy", levels: ["orb", "device"] },
  { id: "alan", name: "Alan", levels: ["device"] },
  { id: "emmy", name: "Emmy", levels: ["device"] },
];

interface Identity {
  trapdoor: bigint;
  nullifier: bigint;
}

export interface TreeWitness {
  identityTrapdoor: bigint;
  identityNullifier: bigint;
  /** 0 if the node on the path is the left one. */
  treePathIndices: number[];
  treeSiblings: bigint[];
}

function deriveIdentity(human: TestHuman): Identity {
  return {
    trapdoor: hashToField(utf8Encode(`Countersign test human ${human.id}: trapdoor`)),
    nullifier: hashToField(utf8Encode(`Countersign test human ${human.id}: nullifier`)),
  };
}

function listHumans(level: LocalLevel): TestHuman[] {
  return testHumans.filter((human) => human.levels.includes(level));
}

/** Leaves are Semaphore commitments, empty places zero; the nodes of every level but the empty ones. */
function buildTree(level: LocalLevel): { levels: bigint[][]; zeros: bigint[] } {
  const { poseidon1, poseidon2 } = loadPoseidon();
  const zeros = [0n];
  for (let depth = 0; depth < TREE_DEPTH; depth += 1)
    zeros.push(poseidon2([zeros[depth] ?? 0n, zeros[depth] ?? 0n]));
  const leaves = listHumans(level).map((human) => {
    const { nullifier, trapdoor } = deriveIdentity(human);
    return poseidon1([poseidon2([nullifier, trapdoor])]);
  });
  const levels = [leaves];
  for (let depth = 0; depth < TREE_DEPTH; depth += 1) {
    const below = levels[depth] ?? [];
    const zero = zeros[depth] ?? 0n;
    const parents = Array.from({ length: Math.ceil(below.length / 2) }, (_, i) =>
      poseidon2([below[2 * i] ?? zero, below[2 * i + 1] ?? zero]),
    );
    levels.push(parents);
  }
  return { levels, zeros };
}

export function treeRoot(level: LocalLevel): bigint {
  const root = buildTree(level).levels[TREE_DEPTH]?.[0];
  if (root === undefined) throw new RangeError("an empty tree has no root");
  return root;
}

/** Throws RangeError if the human has no such credential. */
export function treeWitness(human: TestHuman, level: LocalLevel): TreeWitness {
  let index = listHumans(level).findIndex((member) => member.id === human.id);
  if (index < 0) throw new RangeError(`${human.name} is not in the ${level} tree`);
  const { levels, zeros } = buildTree(level);
  const treePathIndices: number[] = [];
  const treeSiblings: bigint[] = [];
  for (let depth = 0; depth < TREE_DEPTH; depth += 1) {
    treePathIndices.push(index & 1);
    treeSiblings.push(levels[depth]?.[index ^ 1] ?? zeros[depth] ?? 0n);
    index >>= 1;
  }
  const { trapdoor, nullifier } = deriveIdentity(human);
  return { identityTrapdoor: trapdoor, identityNullifier: nullifier, treePathIndices, treeSiblings };
}
