/**
 * @digitalbazaar/bbs-signatures 3.0.0 derives its generators again for every signature and proof, a third of the time
 * of each. They depend on the ciphersuite, the API and their number alone, so the installed package is made to keep
 * the last few sets. A set that is needed a second time gets tables for its multiplications, which makes them four
 * times as fast; for one use, tables cost more than they save. The same goes for the table of the base point of the
 * public keys: the large one is worth it only to who makes hundreds of keys.
 */
import { isPatched, patch } from "./patch.mjs";
import { root } from "./step.mjs";

const folder = `${root}/node_modules/@digitalbazaar/bbs-signatures/lib/bbs`;

const derived = `export function create_generators({
  count, api_id = new Uint8Array(), ciphersuite, compress = false
} = {}) {`;
const kept = `const kept_generators = [];

export function create_generators({
  count, api_id = new Uint8Array(), ciphersuite, compress = false
} = {}) {
  const key = \`\${count} \${compress} \${api_id}\`;
  const at = kept_generators.findIndex(
    entry => entry.key === key && entry.ciphersuite === ciphersuite);
  let entry;
  if(at < 0) {
    const generators = derive_generators({count, api_id, ciphersuite, compress});
    entry = {key, ciphersuite, generators, has_tables: false};
  } else {
    [entry] = kept_generators.splice(at, 1);
    if(!entry.has_tables) {
      entry.generators.forEach(point => point.precompute(4));
      entry.has_tables = true;
    }
  }
  // who proves chooses the number of messages: the memory is bounded
  if(count <= 64) {
    kept_generators.unshift(entry);
    kept_generators.splice(4);
  }
  return entry.generators;
}

function derive_generators({
  count, api_id = new Uint8Array(), ciphersuite, compress = false
} = {}) {`;

const returned = `  // the other points are referred to as \`H\` or \`H_Points\`
  generators.H = generators.slice(1);

  return generators;
}

/**`;
const frozen = `  // the other points are referred to as \`H\` or \`H_Points\`
  generators.H = Object.freeze(generators.slice(1));

  return Object.freeze(generators);
}

/**`;

const large = `const ALL_CIPHERSUITES = [`;
const small = `bls12_381.G2.ProjectivePoint.BASE.precompute(4);

const ALL_CIPHERSUITES = [`;

const edits = [
  { file: `${folder}/util.js`, from: derived, to: kept },
  { file: `${folder}/util.js`, from: returned, to: frozen },
  { file: `${folder}/ciphersuites.js`, from: large, to: small },
];

export const isBbsPatched = () => isPatched(edits);

export const patchBbs = () => patch(edits, ".ci/patch-bbs-signatures.mjs");
