/** What was asked on the command line. Unknown options and missing values are usage errors, never ignored. */
import { type CommandLine, readCommandLine, UsageError, unexpectedWords } from "#lib/domain/command-words";

export const usage = `usage: node verify.mjs <id | url | file | -> [options]
       node verify.mjs log check <base url> [--remember FILE] [--all] [options]

Checks a receipt of Countersign: an attestation (the answer of GET /v1/verify/{id} or POST /v1/attest), a Sigstore
bundle, a human_authorization, a zero-knowledge presentation or a tlog-proof. Needs Node 20 or newer and nothing else.

whom to trust (without these: the keys that the same server gives, which the output says)
  --keys FILE       a kept answer of GET /v1/pubkey; then no key comes from the network
  --key KEY         an attestation key: PEM, a PEM file, or base64 of 32 bytes; may be repeated
  --log-vkey VKEY   the log's C2SP verifier key; may be repeated
  --world-key FILE  World's v4 verifying key (snarkjs JSON), to check v4 proofs of personhood again

what to check
  --base URL        the service, for a bare id, or for the keys of a file
  --as-owner        send COUNTERSIGN_API_KEY, to see a private attestation of your own
  --payload FILE    the payload that a tlog-proof or a presentation (one that shows payload_hash) must be about
  --audience TEXT, --nonce TEXT   whom a presentation was made for, and the nonce that you chose
  --world-chain-rpc URL   ask this World Chain node (an archive node) again for the roots and keys of each approval
  --remember FILE   log check: the last checkpoint seen, read and then replaced; the log must extend it
  --all             log check: read every entry and compute every hash of the tree again
  --json            the report as JSON
  --fail-on-warnings   exit with code 4 if the record is authentic but has warnings
  --                what follows is no option, whatever it begins with

exit code 0: authentic: every check passed, with or without warnings. 1: a check failed. 2: usage, or nothing that can
be read. 3: nothing failed, but the file does not carry everything (a private or erased attestation, or a bundle without
its authorization), or the World Chain node gave no answer. 4: with --fail-on-warnings, instead of 0 and 3: no check
failed, and there is a warning: the record is authentic, and what it records is bad news (for example a tool that is not
registered, or an approval that is only asserted).
`;

const valued = [
  "keys",
  "key",
  "log-vkey",
  "world-key",
  "base",
  "payload",
  "audience",
  "nonce",
  "remember",
  "world-chain-rpc",
] as const;
const flags = ["as-owner", "all", "json", "fail-on-warnings", "help"] as const;
type Valued = (typeof valued)[number];
type Flag = (typeof flags)[number];

export interface Arguments extends Omit<CommandLine<Valued, Flag>, "words"> {
  command: "verify" | "log-check" | "help";
  /** What to verify, or the log's base address. */
  target: string;
}

export function parseArguments(argv: readonly string[]): Arguments {
  const { words, values, flags: given } = readCommandLine(argv, { valued, flags });
  return { ...readCommand(words, given.has("help")), values, flags: given };
}

function readCommand(words: string[], isHelp: boolean): Pick<Arguments, "command" | "target"> {
  if (isHelp) return { command: "help", target: "" };
  const [first, second, third, ...rest] = words;
  if (first === undefined) throw new UsageError("what is to be verified?");
  if (first !== "log") {
    if (second !== undefined) throw unexpectedWords(words, 1);
    return { command: "verify", target: first };
  }
  if (second !== "check" || third === undefined)
    throw new UsageError("the log command is: log check <base url>");
  if (rest.length > 0) throw unexpectedWords(words, 3);
  return { command: "log-check", target: third };
}
