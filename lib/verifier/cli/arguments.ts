/** The arguments of the command line. Unknown options and missing values are usage errors, never ignored. */

import { utf8Decode } from "#lib/protocol/encoding/bytes";
import { isJsonObject } from "#lib/protocol/encoding/canonical-json";
import {
  type CommandLine,
  readCommandLine,
  single,
  UsageError,
  unexpectedWords,
} from "#lib/protocol/text/command-words";
import { parseVerificationKey } from "#lib/protocol/world-id/groth16";
import { readKeysOfList } from "#lib/verifier/checks/check-log";
import { readObject, UnreadableError } from "#lib/verifier/checks/evidence";
import { applyPins, parseTrust, type VerifierTrust } from "#lib/verifier/checks/trust";
import type { Verdict } from "#lib/verifier/report/report";
import { type CommandIo, fetchBytes } from "./io";

/** Program name for {@link usage}. */
export const verifierProgram = "node verify.mjs";

export const usage = `usage: node verify.mjs <id | url | file | -> [options]
       node verify.mjs log check <base url> [--remember FILE] [--all] [options]
       node verify.mjs record <base url> <agent> [--receipt FILE]... [options]
       node verify.mjs record <file> [--receipt FILE]... [options]
       node verify.mjs monitor <base url> [--agent SLUG]... [--organization ID] [--remember FILE] [options]
       node verify.mjs chain <file>... --keys FILE... [options]
       node verify.mjs proof <file> [options]
       node verify.mjs pack <file> [--cedar DIR] [options]
       node verify.mjs replay <decision file> --rules FILE --cedar DIR

Verifies a Countersign receipt: an attestation (the response of GET /v1/verify/{id} or POST /v1/attest), a Sigstore
bundle, a human_authorization, a zero-knowledge presentation or a tlog-proof; with "pack", an evidence pack; with "replay", what
rules said of a request, evaluated again. Needs only Node 20 or newer.

Keys to trust (default: the keys of the receipt's own server, which the output points out)
  --keys FILE       a saved response of GET /v1/pubkey, or a log list; no key is fetched; chain: one of each instance
  --key KEY         an attestation key: PEM, a PEM file, or base64 of 32 bytes; can be repeated
  --log-vkey VKEY   the log's C2SP verifier key; can be repeated
  --witness VKEY    a witness whose clock you trust; can be repeated
  --tsa-certificates FILE   PEM certificates that time stamps must lead to
  --world-key FILE  World's v4 verifying key (snarkjs JSON), to also check v4 proofs of personhood

What to verify
  --base URL        the service, for a bare id, or for the keys of a file
  --as-owner        send COUNTERSIGN_API_KEY, to see your own private attestations
  --payload FILE    the payload that the file must match (a presentation: one that shows payload_hash)
  --audience TEXT, --nonce TEXT   the audience of a presentation, and the nonce that you chose
  --world-chain-rpc URL   ask this World Chain node (an archive node) for the roots and keys of each approval
  --remember FILE   log check, monitor: what was seen last, read and then replaced; the log must extend it
                    (monitor's default: countersign-monitor.json)
  --receipt FILE    record: a receipt that must be in it; can be repeated
  --agent SLUG      monitor: also follow this agent's record; can be repeated
  --organization ID monitor: also follow who may approve for this organization; fails at each change that
                    --roster HASH does not accept
  --roster HASH     monitor: the roster that must be the newest, as the portal shows it under Approvers
  --witness-url URL monitor: what this witness has cosigned last must be part of the log; can be repeated
  --proof FILE      record, monitor: where to write what was found (default: countersign-proof.json)
  --log-url URL     log check: read checkpoint and tiles below this address, such as an exported copy
  --deadline SECONDS   record, monitor, log check: end with exit code 1 after this long, whatever the service answers
                    (default 600; log check 86400)
  --all             log check: read every entry and recompute every hash of the tree
  --rules FILE      replay: a saved response of GET /v1/rules, of the version that decided
  --cedar DIR       replay, pack: your own copy of @cedar-policy/cedar-wasm; its code runs, and a pack's decisions by
                    rules are evaluated again
  --json            print the report as JSON
  --fail-on-warnings   exit with code 4 if the record is authentic but has warnings
  --                treat everything after it as words, not options

Exit codes
  0  authentic: every check passed, with or without warnings
  1  a check failed; for a proof: it proves nothing
  2  wrong usage, or unreadable input
  3  nothing failed, but no fresh signed count says that a record, or a pack's period, is complete ("not counted"); or
     the file is incomplete (private or erased content, a bundle without its authorization, a pack
     with another verifier than the one that runs), or the World Chain node did not answer; for a proof: only its writer
     saw it
  4  with --fail-on-warnings, instead of 0 and 3: no check failed, but there is a warning, for example an unregistered
     tool or an approval that is only asserted
  7  the service could not be reached, or is busy
`;

export const exitCodes: Record<Verdict, number> = { valid: 0, invalid: 1, incomplete: 3, erased: 3 };

const valued = [
  "keys",
  "key",
  "log-vkey",
  "witness",
  "tsa-certificates",
  "world-key",
  "base",
  "payload",
  "audience",
  "nonce",
  "remember",
  "receipt",
  "agent",
  "organization",
  "roster",
  "witness-url",
  "proof",
  "world-chain-rpc",
  "log-url",
  "deadline",
  "rules",
  "cedar",
] as const;
const flags = ["as-owner", "all", "json", "fail-on-warnings", "help"] as const;
type Valued = (typeof valued)[number];
type Flag = (typeof flags)[number];

export interface Arguments extends Omit<CommandLine<Valued, Flag>, "words"> {
  command: "verify" | "log-check" | "record" | "monitor" | "chain" | "proof" | "pack" | "replay" | "help";
  /** File to verify, or the service's base address. */
  target: string;
  slug: string;
  /** Files of a chain after the first. */
  more?: string[];
}

type Command = Pick<Arguments, "command" | "target" | "slug" | "more">;

const commandsByOption: Partial<Record<Valued | Flag, readonly Command["command"][]>> = {
  payload: ["verify"],
  audience: ["verify"],
  nonce: ["verify"],
  "world-chain-rpc": ["verify"],
  receipt: ["record"],
  proof: ["record", "monitor"],
  deadline: ["record", "monitor", "log-check"],
  agent: ["monitor"],
  organization: ["monitor"],
  roster: ["monitor"],
  "witness-url": ["monitor"],
  remember: ["monitor", "log-check"],
  "log-url": ["log-check"],
  all: ["log-check"],
  rules: ["replay"],
  cedar: ["replay", "pack"],
};

export function parseArguments(argv: readonly string[]): Arguments {
  const { words, values, flags: given } = readCommandLine(argv, { valued, flags });
  const found = readCommand(words, given.has("help"));
  if (found.command === "help") return { ...found, values, flags: given };
  for (const name of [...(Object.keys(values) as Valued[]), ...given])
    if (commandsByOption[name]?.includes(found.command) === false)
      throw new UsageError(`--${name} can't be used with this command`);
  return { ...found, values, flags: given };
}

const manyWords: Record<string, (words: string[]) => Command | null> = {
  log: ([second, target = ""]) => (second === "check" ? { command: "log-check", target, slug: "" } : null),
  record: ([target = "", slug = ""]) => {
    const isAlone = slug === "" && /^https?:/i.test(target);
    return isAlone ? null : { command: "record", target, slug };
  },
  monitor: ([target = ""]) => ({ command: "monitor", target, slug: "" }),
  chain: ([target = "", ...more]) => ({ command: "chain", target, slug: "", more }),
  proof: ([target = ""]) => ({ command: "proof", target, slug: "" }),
  pack: ([target = ""]) => ({ command: "pack", target, slug: "" }),
  replay: ([target = ""]) => ({ command: "replay", target, slug: "" }),
};

const forms: Record<string, string> = {
  log: "log check <base url>",
  record: "record <base url> <agent>",
  monitor: "monitor <base url>",
  chain: "chain <file>...",
  proof: "proof <file>",
  pack: "pack <file>",
  replay: "replay <decision file>",
};

const usualDeadline = 600;
const longDeadline = 86_400;

/** Seconds: the service that answers may never want to end. */
export function readDeadline(args: Arguments): number {
  const text = single(args, "deadline");
  if (text === undefined) return args.command === "log-check" ? longDeadline : usualDeadline;
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new UsageError("--deadline: must be a whole number of seconds from 1");
  return Number(text);
}

function readCommand(words: string[], isHelp: boolean): Command {
  if (isHelp) return { command: "help", target: "", slug: "" };
  const [first, ...rest] = words;
  if (first === undefined) throw new UsageError("what should be verified?");
  const read = manyWords[first];
  const form = forms[first];
  const length = form === undefined ? 1 : form.replaceAll(/<[^>]*>/g, "x").split(" ").length;
  if (words.length > length && first !== "chain") throw unexpectedWords(words, length);
  if (read === undefined) return { command: "verify", target: first, slug: "" };
  const command = read(rest);
  if (command === null || command.target === "") throw new UsageError(`the ${first} command is: ${form}`);
  return command;
}

/* Sources of the command line's receipt and keys. */

export interface Source {
  text: string;
  /** The service that the receipt came from, or was said to come from; undefined for a bare file. */
  base: string | undefined;
  attestationId: string | undefined;
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function trimBase(url: string): string {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw new UsageError(`${url}: not an address`);
  }
  if (!/^https?:$/.test(parsed.protocol)) throw new UsageError(`${url}: only http and https`);
  return url.replace(/\/+$/, "");
}

export async function readSource(io: CommandIo, args: Arguments): Promise<Source> {
  const { target } = args;
  const given = single(args, "base");
  const base = given === undefined ? undefined : trimBase(given);
  if (/^https?:/i.test(target)) trimBase(target);
  if (/^https?:\/\//i.test(target)) return readUrl(io, args, target, base);
  if (target === "-") return { text: decode(await io.readStdin(), "-"), base, attestationId: undefined };
  if (!(await io.isFile(target))) {
    if (!uuid.test(target)) throw new UnreadableError(`${target}: no such file, and not an id`);
    if (base === undefined) throw new UsageError("an id alone needs --base, the address of the service");
    return readUrl(io, args, `${base}/v1/verify/${target}`, base);
  }
  return { text: decode(await io.readFile(target), target), base, attestationId: undefined };
}

/** The API's address, the page's, or any other from which one of the files can be had. */
async function readUrl(io: CommandIo, args: Arguments, url: string, base?: string): Promise<Source> {
  const address = url.replace(/[?#].*$/s, "").replace(/\/+$/, "");
  const [, apiBase, apiId] = /^(.*)\/v1\/verify\/([^/]+)(?:\/[a-z-]+)?$/.exec(address) ?? [];
  const [, pageBase, pageId] = /^(.*)\/verify\/[^/]+\/([^/]+)$/.exec(address) ?? [];
  const isPage = apiId === undefined && pageId !== undefined;
  // Proofs of this kind don't say whose leaf it is.
  const isProof = address.endsWith("/tlog-proof");
  const from = isPage ? `${pageBase}/v1/verify/${pageId}` : url;
  const text = decode(await fetchBytes(io, from, ownerHeaders(io, args)), from);
  const id = apiId ?? pageId;
  return {
    text,
    base: base ?? apiBase ?? pageBase,
    attestationId: id !== undefined && uuid.test(id) && !isProof ? id.toLowerCase() : undefined,
  };
}

/** Sends them only on request: the address may be a stranger's. */
function ownerHeaders(io: CommandIo, { flags }: Arguments): Record<string, string> {
  if (!flags.has("as-owner")) return {};
  if (io.apiKey === undefined) throw new UsageError("--as-owner needs COUNTERSIGN_API_KEY");
  return { authorization: `Bearer ${io.apiKey}` };
}

export interface FoundTrust {
  trust: VerifierTrust;
  /** Below it lie the checkpoint and tiles of the log that is open now. */
  logPrefix: string;
  note: string;
  /** True if every key that was needed came from the user. */
  isPinned: boolean;
}

export async function findTrust(
  io: CommandIo,
  args: Arguments,
  base: string | undefined,
): Promise<FoundTrust> {
  const file = single(args, "keys");
  const keys = await Promise.all((args.values.key ?? []).map((key) => readKeyText(io, key)));
  const logVkeys = args.values["log-vkey"] ?? [];
  const answer = await readKeys(io, file, base);
  if (answer === null && (keys.length === 0 || logVkeys.length === 0))
    throw new UsageError(
      "no keys to trust: give --keys, or --key and --log-vkey, or --base to ask the service",
    );
  const clocks = await readClockPins(io, args);
  const isPinning = [keys, logVkeys, ...Object.values(clocks)].some((pins) => pins.length > 0);
  const trust =
    isPinning || answer === null ? applyPins(answer, { keys, logVkeys, ...clocks }) : parseTrust(answer);
  const worldKey = await readWorldKey(io, single(args, "world-key"));
  return {
    trust: { ...trust, ...(worldKey !== null && { worldV4Key: worldKey }) },
    logPrefix: findLogPrefix(answer, base ?? ""),
    ...describeTrust(file, keys.length > 0, logVkeys.length > 0, base),
  };
}

async function readClockPins(io: CommandIo, args: Arguments) {
  const file = single(args, "tsa-certificates");
  return {
    witnessVkeys: args.values.witness ?? [],
    timeCertificates: file === undefined ? [] : [decode(await io.readFile(file), file)],
  };
}

function findLogPrefix(answer: unknown, base: string): string {
  const log = isJsonObject(answer) ? answer["log"] : null;
  const url = isJsonObject(log) ? log["url"] : null;
  const path = typeof url === "string" && URL.canParse(url) ? new URL(url).pathname : null;
  return path === null || base === "" ? `${base}/log` : new URL(path, base).href.replace(/\/+$/, "");
}

/** The log's key alone is enough to follow the log. */
export async function findLogTrust(io: CommandIo, args: Arguments, base: string): Promise<FoundTrust> {
  const logVkeys = args.values["log-vkey"] ?? [];
  if (logVkeys.length === 0 || args.values.keys !== undefined) return findTrust(io, args, base);
  const trust = applyPins(null, { keys: [], logVkeys, witnessVkeys: [], timeCertificates: [] });
  const note = "The log's key: pinned by --log-vkey.";
  return { trust, note, isPinned: true, logPrefix: `${base}/log` };
}

async function readKeys(io: CommandIo, file: string | undefined, base: string | undefined): Promise<unknown> {
  if (file !== undefined) return readKeysOfList(readObject(decode(await io.readFile(file), file)), base);
  if (base === undefined) return null;
  return readObject(decode(await fetchBytes(io, `${base}/v1/pubkey`), "/v1/pubkey"));
}

async function readKeyText(io: CommandIo, key: string): Promise<string> {
  return !key.includes("-----") && (await io.isFile(key)) ? decode(await io.readFile(key), key) : key;
}

async function readWorldKey(io: CommandIo, file: string | undefined) {
  if (file === undefined) return null;
  try {
    return parseVerificationKey(JSON.parse(decode(await io.readFile(file), file)));
  } catch {
    throw new UnreadableError(`${file}: not a Groth16 verification key`);
  }
}

function describeTrust(
  file: string | undefined,
  hasKey: boolean,
  hasLogKey: boolean,
  base: string | undefined,
): Pick<FoundTrust, "note" | "isPinned"> {
  if (file !== undefined && !hasKey && !hasLogKey)
    return { isPinned: true, note: `Keys: pinned, from ${file}.` };
  if (hasKey && hasLogKey) return { isPinned: true, note: "Keys: pinned by --key and --log-vkey." };
  if (hasKey)
    return {
      isPinned: true,
      note: "Keys: pinned by --key; the log's and the BBS key as far as that key has signed their making.",
    };
  const server = file ?? base;
  if (hasLogKey)
    return {
      isPinned: file !== undefined,
      note: `Keys: the log's is pinned by --log-vkey. The attestation keys are NOT pinned: they came from ${server}.`,
    };
  return {
    isPinned: false,
    note:
      `Keys: NOT pinned. They came from ${server}, as the receipt may have: this shows that the service agrees with itself,\n` +
      `not that it is the one you know. Keep its keys once (curl -fsS ${server}/v1/pubkey > keys.json), compare them over\n` +
      "another way, and pass --keys keys.json, or --key and --log-vkey.",
  };
}

export function decode(bytes: Uint8Array, name: string): string {
  try {
    return utf8Decode(bytes);
  } catch {
    throw new UnreadableError(`${name}: not UTF-8`);
  }
}
