/** The arguments of `npm run keys`. An option that the command doesn't use is refused, not ignored. */

import type { RotatedPurpose } from "#lib/log/keys/rotate-keys";
import { readCommandLine, single, UsageError, unexpectedWords } from "#lib/protocol/text/command-words";

export type KeyCommand =
  | { name: "list" | "wrap" }
  | { name: "rotate"; purpose: RotatedPurpose; file: string | undefined; isLost: boolean }
  | {
      name: "revoke";
      purpose: RotatedPurpose;
      keyId: string;
      file: string | undefined;
      fromIndex: number | undefined;
      /** The log that it is an index of: its number or origin. */
      log: string | undefined;
    };

const known = { valued: ["new-key-file", "from-index", "log"], flags: ["lost"] } as const;

/** By command: what it must be given, and the options that it takes. */
const grammar: Record<KeyCommand["name"], { places: string[]; options: string[] }> = {
  list: { places: [], options: [] },
  wrap: { places: [], options: [] },
  rotate: { places: ["attestation|zk"], options: ["new-key-file", "lost"] },
  revoke: { places: ["attestation|zk", "KEY_ID"], options: ["new-key-file", "from-index", "log"] },
};

const isCommand = (word: string): word is KeyCommand["name"] => Object.hasOwn(grammar, word);

/** Throws UsageError. */
export function parseKeyArguments(argv: readonly string[]): KeyCommand {
  const line = readCommandLine(argv, known);
  const [name = "", ...words] = line.words;
  if (!isCommand(name))
    throw new UsageError(`list, rotate, revoke or wrap is expected, not ${name || "nothing"}`);
  const { places, options } = grammar[name];
  if (words.length > places.length) throw unexpectedWords(words, places.length);
  if (words.length < places.length) throw new UsageError(`${places[words.length]} is missing`);
  const foreign = [...Object.keys(line.values), ...line.flags].find((option) => !options.includes(option));
  if (foreign !== undefined) throw new UsageError(`${name} takes no --${foreign}`);
  if (name === "list" || name === "wrap") return { name };
  const [purposeWord, keyId = ""] = words;
  const purpose = parsePurpose(purposeWord);
  const file = single(line, "new-key-file");
  if (name === "rotate") return { name, purpose, file, isLost: line.flags.has("lost") };
  const fromIndex = parseIndex(single(line, "from-index"));
  const log = single(line, "log");
  if (purpose === "zk" && (fromIndex ?? log) !== undefined)
    throw new UsageError("a BBS key is revoked as a whole: it takes no --from-index and no --log");
  if (log !== undefined && fromIndex === undefined) throw new UsageError("--log needs --from-index");
  return { name, purpose, keyId, file, fromIndex, log };
}

function parsePurpose(word: string | undefined): RotatedPurpose {
  if (word === "attestation" || word === "zk") return word;
  if (word === "log")
    throw new UsageError(
      "a log never changes its key: npm run log -- new-epoch --new-log-key begins a new log",
    );
  throw new UsageError(`attestation or zk is expected, not ${word}`);
}

function parseIndex(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,15}$/.test(text)) throw new UsageError("--from-index: must be a number");
  return Number(text);
}
