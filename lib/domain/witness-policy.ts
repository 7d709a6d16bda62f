/**
 * The setting WITNESSES: which witnesses cosign the log's checkpoints, and how many must. Entries are lines or
 * separated by `;`:
 *
 *     witness.example/w1+3c1f2a9b+BI…  https://witness.example/w1      verifier key (type 4) and submission prefix
 *     policy 2                                                         how many must have cosigned (k of n)
 */
import { parseDecimal } from "./checkpoint";
import { parseVerifierKey, type VerifierKey } from "./signed-note";

export interface Witness {
  key: VerifierKey;
  /** The submission prefix, without a slash at its end. */
  url: string;
}

export interface WitnessPolicySettings {
  witnesses: Witness[];
  threshold: number;
}

function parseWitness(vkey: string, url: string): Witness {
  const key = parseVerifierKey(vkey);
  if (key.type !== 4) throw new RangeError(`${key.name}: a witness has a key of type 4`);
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new RangeError(`${key.name}: ${url} is not an http address`);
  return { key, url: url.replace(/\/+$/, "") };
}

/** Throws RangeError, with a message that names the entry, for anything but the form above. */
export function parseWitnessPolicy(text: string): WitnessPolicySettings {
  const witnesses: Witness[] = [];
  let threshold: number | null = null;
  for (const entry of text.split(/[;\n]/).map((one) => one.trim())) {
    if (entry === "" || entry.startsWith("#")) continue;
    const [first = "", second = "", ...rest] = entry.split(/\s+/);
    if (second === "" || rest.length > 0)
      throw new RangeError(`"${entry}" is neither "<vkey> <url>" nor "policy <k>"`);
    if (first !== "policy") witnesses.push(parseWitness(first, second));
    else if (threshold !== null) throw new RangeError("the policy is given twice");
    else threshold = parseDecimal(second);
  }
  const names = new Set(witnesses.map(({ key }) => key.name));
  const keys = new Set(witnesses.map(({ key }) => key.publicKey.join()));
  if (names.size < witnesses.length || keys.size < witnesses.length)
    throw new RangeError("a witness is named twice");
  if (witnesses.length === 0) throw new RangeError("there is no witness");
  if (threshold === null)
    throw new RangeError(`"policy <k>" is missing: how many of the ${witnesses.length} must cosign`);
  if (threshold > witnesses.length)
    throw new RangeError(`policy ${threshold} of ${witnesses.length} cannot be met`);
  return { witnesses, threshold };
}
