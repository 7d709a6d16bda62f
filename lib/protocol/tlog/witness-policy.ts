/**
 * The setting WITNESSES: which witnesses cosign the log's checkpoints, and how many must. Entries are lines or separated
 * by `;`, in one of two forms. The short one:
 *
 *     witness.example/w1+3c1f2a9b+BI…  https://witness.example/w1      verifier key (type 4) and submission prefix
 *     policy 2                                                         how many must have cosigned (k of n)
 *
 * Or a policy (c2sp.org/tlog-policy), in which each witness needs the address that checkpoints are sent to:
 *
 *     witness X1 witness.example/w1+3c1f2a9b+BI… https://witness.example/w1
 *     group X any X1 X2
 *     quorum X
 *
 * While a witness changes its key, both are named, in the short form as two entries of one address, in a policy as a group of
 * their own:
 *
 *     group X1 any X1-old X1-new
 *
 * It counts once, whichever of them it signs with.
 */
import { fewestFor, type Quorum } from "#lib/protocol/approval/assign-groups";
import { isJsonObject, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { encodeVerifierKey, parseDecimal, parseVerifierKey, type VerifierKey } from "./checkpoint";

export interface Witness {
  /** Name of each of its keys. */
  name: string;
  /** Several while it changes its key. */
  keys: VerifierKey[];
  /** The submission prefix, without a slash at its end. */
  url: string;
}

export interface WitnessPolicySettings {
  witnesses: Witness[];
  quorum: Quorum;
  /** The least number of witnesses with which the quorum can be met. */
  threshold: number;
}

interface NamedKey {
  key: VerifierKey;
  url: string;
}

function parseWitness(vkey: string, url: string): NamedKey {
  const key = parseVerifierKey(vkey);
  if (key.type === 1) throw new RangeError(`${key.name}: a witness has a key of type 4 or 6`);
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new RangeError(`${key.name}: ${url} is not an http address`);
  return { key, url: url.replace(/\/+$/, "") };
}

/** Throws RangeError, with a message that names the entry, for anything but the forms above. */
export function parseWitnessPolicy(text: string): WitnessPolicySettings {
  const entries = text
    .split(/[;\n]/)
    .map((one) => one.trim())
    .filter((entry) => entry !== "" && !entry.startsWith("#"))
    .map((entry) => entry.split(/[ \t]+/));
  const isPolicy = entries.some(([first]) => first === "quorum");
  const { witnesses, quorum } = isPolicy ? readPolicy(entries) : readShort(entries);
  return { witnesses, quorum, threshold: fewestFor(quorum) };
}

type Parsed = Pick<WitnessPolicySettings, "witnesses" | "quorum">;

function groupKeys(named: readonly NamedKey[]): Witness[] {
  const keys = new Set(named.map(({ key }) => key.publicKey.join()));
  if (keys.size < named.length) throw new RangeError("a key is named twice");
  const witnesses = new Map<string, Witness>();
  for (const { key, url } of named) {
    const { name } = key;
    const known = witnesses.get(name);
    if (known !== undefined && known.url !== url)
      throw new RangeError(`${name}: the keys of a witness have one address`);
    if (known === undefined) witnesses.set(name, { name, keys: [key], url });
    else known.keys.push(key);
  }
  return [...witnesses.values()];
}

function readShort(entries: string[][]): Parsed {
  const named: NamedKey[] = [];
  let threshold: number | null = null;
  for (const words of entries) {
    const [first = "", second = "", ...rest] = words;
    if (second === "" || rest.length > 0)
      throw new RangeError(`"${words.join(" ")}" is neither "<vkey> <url>" nor "policy <k>"`);
    if (first !== "policy") named.push(parseWitness(first, second));
    else if (threshold !== null) throw new RangeError("the policy is given twice");
    else threshold = parseDecimal(second);
  }
  const witnesses = groupKeys(named);
  if (witnesses.length === 0) throw new RangeError("there is no witness");
  if (threshold === null)
    throw new RangeError(`"policy <k>" is missing: how many of the ${witnesses.length} must cosign`);
  if (threshold > witnesses.length)
    throw new RangeError(`policy ${threshold} of ${witnesses.length} cannot be met`);
  return { witnesses, quorum: { k: threshold, of: witnesses.map(({ name }) => name) } };
}

type KeyQuorum = VerifierKey | { k: number; of: KeyQuorum[] };

interface PolicyState {
  keys: NamedKey[];
  /** Keyed by the policy's names; a member that is in a group already is `used`. */
  named: Map<string, KeyQuorum>;
  used: Set<string>;
  quorum: KeyQuorum | null;
}

/** Names in place of keys. Throws RangeError if a witness could count once for each of its keys. */
function nameWitnesses(quorum: KeyQuorum, witnesses: readonly Witness[]): Quorum {
  const isOwnGroup = ({ keys }: Witness) =>
    keys.length > 1 &&
    "of" in quorum &&
    quorum.k === 1 &&
    quorum.of.length === keys.length &&
    keys.every((key) => quorum.of.includes(key));
  const own = witnesses.find(isOwnGroup);
  if (own !== undefined) return own.name;
  if ("of" in quorum) return { k: quorum.k, of: quorum.of.map((one) => nameWitnesses(one, witnesses)) };
  const { name } = quorum;
  if (witnesses.some((one) => one.name === name && one.keys.length > 1))
    throw new RangeError(`${name}: its keys must be in a group of their own, with "any"`);
  return name;
}

/** A line can only name what the lines before it define. */
function readPolicy(entries: string[][]): Parsed {
  const state: PolicyState = { keys: [], named: new Map(), used: new Set(), quorum: null };
  for (const words of entries) {
    const [kind = "", ...rest] = words;
    const read = policyLines[kind];
    if (read === undefined) throw new RangeError(`"${words.join(" ")}" is no line of a policy`);
    read(state, rest);
  }
  const { keys, quorum } = state;
  if (quorum === null) throw new RangeError("the quorum is missing");
  if (keys.length === 0) throw new RangeError("there is no witness");
  const witnesses = groupKeys(keys);
  return { witnesses, quorum: nameWitnesses(quorum, witnesses) };
}

const policyLines: Record<string, (state: PolicyState, words: string[]) => void> = {
  // Accepts and ignores the log: it is this one.
  log: (_, [vkey = ""]) => void parseVerifierKey(vkey),
  witness: (state, [name = "", vkey = "", url = ""]) => {
    const witness = parseWitness(vkey, url);
    define(state, name, witness.key);
    state.keys.push(witness);
  },
  group: (state, [name = "", count = "", ...members]) => {
    const of = members.map((member) => {
      if (state.used.has(member)) throw new RangeError(`${member} is in a group twice`);
      state.used.add(member);
      return find(state, member);
    });
    const k = count === "any" ? 1 : count === "all" ? of.length : parseDecimal(count);
    if (k < 1 || k > of.length) throw new RangeError(`group ${name}: ${count} of ${of.length} cannot be met`);
    define(state, name, { k, of });
  },
  quorum: (state, [name = "", ...rest]) => {
    if (state.quorum !== null || rest.length > 0) throw new RangeError("the quorum is given twice");
    state.quorum = name === "none" ? { k: 0, of: [] } : find(state, name);
  },
};

function define({ named }: PolicyState, name: string, quorum: KeyQuorum): void {
  if (name === "" || name === "none" || named.has(name)) throw new RangeError(`${name} is named twice`);
  named.set(name, quorum);
}

function find({ named }: PolicyState, name: string): KeyQuorum {
  const quorum = named.get(name);
  if (quorum === undefined) throw new RangeError(`${name} is not defined on a line before`);
  return quorum;
}

function encodeWitness({ name, keys }: Witness): string[] {
  if (keys.length === 1) return keys.map((key) => `witness ${name} ${encodeVerifierKey(key)}`);
  // No witness has a name with a plus sign.
  const named = keys.map((key, i) => ({ key, own: `${name}+${i + 1}` }));
  return [
    ...named.map(({ key, own }) => `witness ${own} ${encodeVerifierKey(key)}`),
    `group ${name} any ${named.map(({ own }) => own).join(" ")}`,
  ];
}

export function encodeWitnessPolicy({ witnesses, quorum }: WitnessPolicySettings, logVkey: string): string {
  const lines = [`log ${logVkey}`, ...witnesses.flatMap(encodeWitness)];
  let groups = 0;
  const write = (member: Quorum): string => {
    if (typeof member === "string") return member;
    const of = member.of.map(write);
    if (member.k === 0) return "none";
    groups += 1;
    lines.push(`group group-${groups} ${member.k} ${of.join(" ")}`);
    return `group-${groups}`;
  };
  const top = write(quorum);
  return `${[...lines, `quorum ${top}`].join("\n")}\n`;
}

/*
 * The public list of logs that run side by side, in the shape of Certificate Transparency's log list (version 3), whose
 * `tiled_logs` have four fields more: `number`, `origin`, `vkey` and `attestation_keys`. Each service with a database of its own
 * has a number from 1 to 255, which is the last byte of the attestation ids that it makes.
 */

export const LOG_LIST_FILE = "log-list.json";
export const LOG_LIST_SIGNATURE_FILE = "log-list.sig";
export const MAX_LOG_NUMBER = 255;

export interface ListedLog {
  number: number;
  base: string;
  origin: string;
  entry: JsonObject;
}

function readEntry(entry: unknown): ListedLog {
  const { number, submission_url: url, origin } = isJsonObject(entry) ? entry : {};
  const isNumber = Number.isInteger(number) && Number(number) >= 1 && Number(number) <= MAX_LOG_NUMBER;
  if (!isNumber || typeof origin !== "string" || typeof url !== "string" || !/^https?:\/\//.test(url))
    throw new RangeError("an entry of the log list is malformed");
  return { number: Number(number), base: url.replace(/\/+$/, ""), origin, entry: entry as JsonObject };
}

export function parseLogList(list: unknown): ListedLog[] {
  const operators = isJsonObject(list) ? list["operators"] : null;
  if (!Array.isArray(operators)) throw new RangeError("not a log list");
  return operators
    .flatMap((operator) => (isJsonObject(operator) ? operator["tiled_logs"] : null))
    .map(readEntry);
}

/** The random bytes of an attestation id (lib/protocol/encoding/bytes.ts) with the number of the service that makes it. */
export function numberedRandom(random: Uint8Array, number: number | null): Uint8Array {
  return number === null ? random : random.map((byte, at) => (at === 15 ? number : byte));
}

/** The base of the service that the id names; null if it is `own`, or no service of the list. */
export function baseOfId(logs: readonly ListedLog[], own: number, id: string): string | null {
  const number = Number.parseInt(id.slice(-2), 16);
  return number === own ? null : (logs.find((log) => log.number === number)?.base ?? null);
}
