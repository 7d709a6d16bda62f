/** Where the command line takes the receipt and the keys from. */

import { utf8Decode } from "#lib/protocol/encoding/bytes";
import { isJsonObject } from "#lib/protocol/encoding/canonical-json";
import { single, UsageError } from "#lib/protocol/text/command-words";
import { parseVerificationKey } from "#lib/protocol/world-id/groth16";
import { readKeysOfList } from "#lib/verifier/checks/log-list";
import { readObject, UnreadableError } from "#lib/verifier/checks/read-json";
import { applyPins, parseTrust, type VerifierTrust } from "#lib/verifier/checks/trust";
import type { Arguments } from "./arguments";
import { type CommandIo, fetchBytes } from "./io";

export interface Source {
  text: string;
  /** The service that the receipt came from, or was said to come from; undefined for a bare file. */
  base: string | undefined;
  /** The id that was asked for. */
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
  // Such a proof doesn't say whose leaf it is.
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

/** Only when asked for: the address may be a stranger's. */
function ownerHeaders(io: CommandIo, { flags }: Arguments): Record<string, string> {
  if (!flags.has("as-owner")) return {};
  if (io.apiKey === undefined) throw new UsageError("--as-owner needs COUNTERSIGN_API_KEY");
  return { authorization: `Bearer ${io.apiKey}` };
}

export interface FoundTrust {
  trust: VerifierTrust;
  /** Below it lie the checkpoint and tiles of the log that is open now. */
  logPrefix: string;
  /** For people: where the keys came from and what that is worth. */
  note: string;
  /** Every key that was needed came from the user. */
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

/** The path that the service states, at the address that was asked. */
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
