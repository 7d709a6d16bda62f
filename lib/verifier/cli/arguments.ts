/** The arguments of the command line. Unknown options and missing values are usage errors, never ignored. */
import {
  type CommandLine,
  readCommandLine,
  single,
  UsageError,
  unexpectedWords,
} from "#lib/protocol/text/command-words";
import type { Verdict } from "#lib/verifier/report/report";

/** As {@link usage} calls it. */
export const verifierProgram = "node verify.mjs";

export const usage = `usage: node verify.mjs <id | url | file | -> [options]
       node verify.mjs log check <base url> [--remember FILE] [--all] [options]
       node verify.mjs record <base url> <agent> [--receipt FILE]... [options]
       node verify.mjs monitor <base url> [--agent SLUG]... [--organization ID] [--remember FILE] [options]
       node verify.mjs proof <file> [options]
       node verify.mjs pack <file> [--cedar DIR] [options]
       node verify.mjs replay <decision file> --rules FILE --cedar DIR

Verifies a Countersign receipt: an attestation (the response of GET /v1/verify/{id} or POST /v1/attest), a Sigstore
bundle, a human_authorization, a zero-knowledge presentation or a tlog-proof; with "pack", an evidence pack; with "replay", what
rules said of a request, evaluated again. Needs only Node 20 or newer.

Keys to trust (default: the keys of the receipt's own server, which the output points out)
  --keys FILE       a saved response of GET /v1/pubkey, or a log list; no key is fetched
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
  command: "verify" | "log-check" | "record" | "monitor" | "proof" | "pack" | "replay" | "help";
  /** File to verify, or the service's base address. */
  target: string;
  /** Whose record. */
  slug: string;
}

type Command = Pick<Arguments, "command" | "target" | "slug">;

/** Options that only these commands have a use for. */
const commandsOf: Partial<Record<Valued | Flag, readonly Command["command"][]>> = {
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
    if (commandsOf[name]?.includes(found.command) === false)
      throw new UsageError(`--${name} can't be used with this command`);
  return { ...found, values, flags: given };
}

const manyWords: Record<string, (words: string[]) => Command | null> = {
  log: ([second, target = ""]) => (second === "check" ? { command: "log-check", target, slug: "" } : null),
  record: ([target = "", slug = ""]) => (slug === "" ? null : { command: "record", target, slug }),
  monitor: ([target = ""]) => ({ command: "monitor", target, slug: "" }),
  proof: ([target = ""]) => ({ command: "proof", target, slug: "" }),
  pack: ([target = ""]) => ({ command: "pack", target, slug: "" }),
  replay: ([target = ""]) => ({ command: "replay", target, slug: "" }),
};

const forms: Record<string, string> = {
  log: "log check <base url>",
  record: "record <base url> <agent>",
  monitor: "monitor <base url>",
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
  if (words.length > length) throw unexpectedWords(words, length);
  if (read === undefined) return { command: "verify", target: first, slug: "" };
  const command = read(rest);
  if (command === null || command.target === "") throw new UsageError(`the ${first} command is: ${form}`);
  return command;
}
