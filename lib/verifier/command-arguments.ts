/** The arguments of the command line. Unknown options and missing values are usage errors, never ignored. */
import { type CommandLine, readCommandLine, UsageError, unexpectedWords } from "#lib/domain/command-words";

/** As {@link usage} calls it. */
export const verifierProgram = "node verify.mjs";

export const usage = `usage: node verify.mjs <id | url | file | -> [options]
       node verify.mjs log check <base url> [--remember FILE] [--all] [options]
       node verify.mjs record <base url> <agent> [--receipt FILE]... [options]

Verifies a Countersign receipt: an attestation (the response of GET /v1/verify/{id} or POST /v1/attest), a Sigstore
bundle, a human_authorization, a zero-knowledge presentation or a tlog-proof. Needs only Node 20 or newer.

Keys to trust (default: the keys of the receipt's own server, which the output points out)
  --keys FILE       a saved response of GET /v1/pubkey; no key is fetched
  --key KEY         an attestation key: PEM, a PEM file, or base64 of 32 bytes; can be repeated
  --log-vkey VKEY   the log's C2SP verifier key; can be repeated
  --witness VKEY    a witness whose clock you trust; can be repeated
  --tsa-certificates FILE   PEM certificates that time stamps must lead to
  --world-key FILE  World's v4 verifying key (snarkjs JSON), to also check v4 proofs of personhood

What to verify
  --base URL        the service, for a bare id, or for the keys of a file
  --as-owner        send COUNTERSIGN_API_KEY, to see your own private attestations
  --payload FILE    the payload that a tlog-proof or a presentation (one that shows payload_hash) must match
  --audience TEXT, --nonce TEXT   the audience of a presentation, and the nonce that you chose
  --world-chain-rpc URL   ask this World Chain node (an archive node) for the roots and keys of each approval
  --remember FILE   log check: the last checkpoint, read and then replaced; the log must extend it
  --receipt FILE    record: a receipt that must be in it; can be repeated
  --all             log check: read every entry and recompute every hash of the tree
  --json            print the report as JSON
  --fail-on-warnings   exit with code 4 if the record is authentic but has warnings
  --                treat everything after it as words, not options

Exit codes
  0  authentic: every check passed, with or without warnings
  1  a check failed
  2  wrong usage, or unreadable input
  3  nothing failed, but the file is incomplete (private or erased content, or a bundle without its authorization),
     or the World Chain node did not answer
  4  with --fail-on-warnings, instead of 0 and 3: no check failed, but there is a warning, for example an unregistered
     tool or an approval that is only asserted
`;

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
  "world-chain-rpc",
] as const;
const flags = ["as-owner", "all", "json", "fail-on-warnings", "help"] as const;
type Valued = (typeof valued)[number];
type Flag = (typeof flags)[number];

export interface Arguments extends Omit<CommandLine<Valued, Flag>, "words"> {
  command: "verify" | "log-check" | "record" | "help";
  /** What to verify, or the service's base address. */
  target: string;
  /** Whose record. */
  slug: string;
}

export function parseArguments(argv: readonly string[]): Arguments {
  const { words, values, flags: given } = readCommandLine(argv, { valued, flags });
  return { ...readCommand(words, given.has("help")), values, flags: given };
}

function readCommand(words: string[], isHelp: boolean): Pick<Arguments, "command" | "target" | "slug"> {
  if (isHelp) return { command: "help", target: "", slug: "" };
  const [first, second, third, ...rest] = words;
  if (first === undefined) throw new UsageError("what should be verified?");
  if (first !== "log" && first !== "record") {
    if (second !== undefined) throw unexpectedWords(words, 1);
    return { command: "verify", target: first, slug: "" };
  }
  if (rest.length > 0) throw unexpectedWords(words, 3);
  if (first === "record") {
    if (second === undefined || third === undefined)
      throw new UsageError("the record command is: record <base url> <agent>");
    return { command: "record", target: second, slug: third };
  }
  if (second !== "check" || third === undefined)
    throw new UsageError("the log command is: log check <base url>");
  return { command: "log-check", target: third, slug: "" };
}
