/** The commands about records: following one, watching a service, and checking what somebody else has found. */
import { hexEncode, isUuid, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { failBy } from "#lib/protocol/statement/outcome";
import { single, UsageError } from "#lib/protocol/text/command-words";
import { toVisibleText } from "#lib/protocol/text/display-text";
import { verifyCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { checkChain } from "#lib/verifier/checks/check-chain";
import { holds } from "#lib/verifier/checks/check-log";
import { checkPostQuantum } from "#lib/verifier/checks/check-post-quantum";
import {
  checkRecord,
  proveByReceipts,
  type RecordReport,
  type RecordSource,
  readRecordPage,
} from "#lib/verifier/checks/check-record";
import { readJson, readObject, UnreadableError } from "#lib/verifier/checks/evidence";
import { checkMisbehaviour, MISBEHAVIOUR_TYPE } from "#lib/verifier/checks/misbehaviour";
import { chooseLogKey, parseTrust, type VerifierTrust } from "#lib/verifier/checks/trust";
import {
  encodeRemembered,
  type MonitoredLog,
  type MonitorSource,
  monitorService,
  parseRemembered,
} from "#lib/verifier/monitor/monitor";
import { describeRecord, describeUncounted, type VerifierCheck } from "#lib/verifier/report/report";
import { type Arguments, decode, exitCodes, findTrust, readDeadline, trimBase } from "./arguments";
import {
  type CommandIo,
  fetchBytes,
  fetchBytesIfThere,
  formatChecks,
  printJson,
  showProgress,
  withDeadline,
} from "./io";

const fetchText = async (io: CommandIo, url: string) => decode(await fetchBytes(io, url), url);

const sumSource = (io: CommandIo, base: string) => ({
  readRows: (path: string) => fetchBytes(io, `${base}${path}`),
  readStatements: (from: number) => fetchText(io, `${base}/v1/log/statements?from=${from}`),
});

function recordSource(io: CommandIo, base: string, slug: string): RecordSource {
  const record = `${base}/v1/agent/${encodeURIComponent(slug)}/record`;
  return {
    ...sumSource(io, base),
    readPage: (from) => fetchText(io, `${record}?from=${from}`),
    readAnswer: (id) => fetchText(io, `${base}/v1/verify/${encodeURIComponent(id)}`),
  };
}

/** A record as it was saved: an answer, or a list of all its pages. Its attestations are the reader's receipts. */
async function fileSource(io: CommandIo, file: string, receipts: readonly string[]): Promise<RecordSource> {
  const value = readJson(decode(await io.readFile(file), file));
  const pages = (Array.isArray(value) ? value : [value]).map((page) => ({ page, ...readRecordPage(page) }));
  const held = new Map(receipts.map((text) => [readObject(text)["attestation_id"], text]));
  const findPage = (from: number) => pages.find(({ entries }) => entries[0]?.sequence === from);
  return {
    readPage: async (from) => {
      const found = from === 1 ? pages[0] : findPage(from);
      if (found === undefined)
        throw new UnreadableError(`${file}: the page from number ${from} on is missing`);
      return found.page;
    },
    readAnswer: async (id) => held.get(id) ?? null,
    readRows: async () => null,
    readStatements: async () => ({ statements: [], next: null }),
  };
}

/** Writes what others can check, or else what was seen; with the keys that it was checked under. */
async function writeProof(
  io: CommandIo,
  args: Arguments,
  base: string,
  proof: JsonObject | null,
  checks: readonly VerifierCheck[],
): Promise<string> {
  const file = single(args, "proof") ?? "countersign-proof.json";
  // A service that answers no longer must not cost the proof; its reader then needs keys from elsewhere.
  const keys = await fetchText(io, `${base}/v1/pubkey`).then(readObject, () => null);
  const seen = { type: MISBEHAVIOUR_TYPE, kind: "observation", checks: checks as unknown as JsonObject[] };
  const at = new Date(io.nowSeconds() * 1000).toISOString();
  await io.writeFile(file, `${JSON.stringify({ ...(proof ?? seen), base, seen_at: at, keys }, null, 2)}\n`);
  return proof === null
    ? `${file} has what was seen. Nobody has signed it, so it proves nothing to others.`
    : `${file} proves it: anyone can check it offline by node verify.mjs proof.`;
}

/** The log's newest checkpoint has both signatures, if a key for the second is known. */
async function checkPublished(
  io: CommandIo,
  logPrefix: string,
  trust: VerifierTrust,
): Promise<VerifierCheck[]> {
  if (!trust.postQuantumKeys?.length) return [];
  const checkpoint = await fetchText(io, `${logPrefix}/checkpoint`);
  const signed = verifyCheckpoint(checkpoint, chooseLogKey(checkpoint, trust));
  return signed.ok
    ? checkPostQuantum(checkpoint, trust, { isPublished: true })
    : [{ name: "checkpoint_signature", ...failBy(signed) }];
}

export async function runRecord(args: Arguments, given: CommandIo): Promise<number> {
  const io = withDeadline(given, readDeadline(args));
  const isFile = args.slug === "";
  const base = isFile ? undefined : trimBase(args.target);
  const { trust, note, isPinned, logPrefix } = await findTrust(io, args, base);
  const receipts = await Promise.all(
    (args.values.receipt ?? []).map(async (file) => decode(await io.readFile(file), file)),
  );
  const source =
    base === undefined ? await fileSource(io, args.target, receipts) : recordSource(io, base, args.slug);
  const report = await checkRecord(source, trust, {
    nowSeconds: io.nowSeconds(),
    ...(!isFile && { slug: args.slug }),
    ...(isFile && { sumUpTo: 0 }),
    receipts,
    onProgress: showProgress(io),
  });
  const { marks: _marks, ...facts } = report;
  const checks = [
    ...report.checks,
    ...(base === undefined ? [] : await checkPublished(io, logPrefix, trust)),
  ];
  const ok = holds(checks);
  const verdict = ok ? facts.verdict : "invalid";
  const proof = ok ? null : await proveByReceipts(source, receipts, trust).catch(() => null);
  const found =
    ok || base === undefined ? "" : `\n\n${toVisibleText(await writeProof(io, args, base, proof, checks))}`;
  const keys = { pinned: isPinned, note };
  if (args.flags.has("json")) printJson(io, { kind: "record", ...facts, verdict, checks, proof, keys });
  else
    io.print(
      `${formatChecks(checks)}\n\n${note}\n\n${toVisibleText(describeRecord({ ...report, checks, verdict }))}${found}\n`,
    );
  return exitCodes[verdict];
}

const logPath = (url: unknown): string => {
  const path = typeof url === "string" && URL.canParse(url) ? new URL(url).pathname : "";
  return /^\/log(?:\/\d+)?$/.test(path) ? path : "/log";
};

function monitorSource(io: CommandIo, base: string, keys: JsonObject, witnessUrls: string[]): MonitorSource {
  const listed = Array.isArray(keys["logs"]) ? keys["logs"].filter(isJsonObject) : [];
  const open = isJsonObject(keys["log"]) ? keys["log"] : {};
  const readLog = async (origin?: string): Promise<MonitoredLog | undefined> => {
    const log = origin === undefined ? open : listed.find((one) => one["origin"] === origin);
    if (log === undefined) return undefined;
    const path = logPath(log["url"]);
    return {
      path,
      checkpoint: await fetchText(io, `${base}${path}/checkpoint`),
      readFile: (name) => fetchBytesIfThere(io, `${base}${path}/${name}`),
    };
  };
  const monitoringPath = `${hexEncode(sha256(utf8Encode(String(open["origin"]))))}/checkpoint`;
  const readWitnesses = () =>
    Promise.all(
      witnessUrls.map(async (url) => {
        const note = await fetchBytesIfThere(io, `${trimBase(url)}/${monitoringPath}`);
        return { name: new URL(url).host, note: note && decode(note, url) };
      }),
    );
  return { ...sumSource(io, base), readLog, readWitnesses };
}

/** Followed like by the record command; the names of its checks begin with the agent's. */
async function followAgents(
  args: Arguments,
  io: CommandIo,
  base: string,
  trust: ReturnType<typeof parseTrust>,
) {
  const checks: VerifierCheck[] = [];
  for (const slug of args.values.agent ?? []) {
    const report = await checkRecord(recordSource(io, base, slug), trust, {
      nowSeconds: io.nowSeconds(),
      slug,
      sumUpTo: 0,
    });
    for (const { name, ...outcome } of report.checks)
      if (name !== "sum" && name !== "receipts") checks.push({ name: `${slug} ${name}`, ...outcome });
  }
  return checks;
}

const news: readonly unknown[] = ["roster_changed", "roster_unexpected"];

/** The service may have done nothing wrong: the organization has to say whether it knows the change. */
function isNews(checks: readonly VerifierCheck[]): boolean {
  const failed = checks.filter(({ status }) => status === "fail");
  return failed.length > 0 && failed.every(({ reason }) => news.includes(reason));
}

function describeMonitored(verdict: RecordReport["verdict"], checks: readonly VerifierCheck[]): string {
  if (isNews(checks)) return "The service holds. Who may approve is not as expected.";
  if (verdict === "invalid") return "The service does NOT hold.";
  return verdict === "valid"
    ? "The service holds."
    : `Nothing failed, but not everything is counted: ${describeUncounted(checks)}.`;
}

function readWatched(args: Arguments) {
  const organization = single(args, "organization");
  const expected = single(args, "roster");
  if (expected !== undefined && organization === undefined)
    throw new UsageError("--roster needs --organization");
  if (organization !== undefined && !isUuid(organization))
    throw new UsageError("--organization: must be an organization's id");
  if (expected !== undefined && !/^[0-9a-f]{64}$/.test(expected))
    throw new UsageError("--roster: must be a roster's hash, 64 hex digits");
  return organization === undefined ? undefined : { organization, expected };
}

export async function runMonitor(args: Arguments, given: CommandIo): Promise<number> {
  const io = withDeadline(given, readDeadline(args));
  const base = trimBase(args.target);
  const { trust, note, isPinned } = await findTrust(io, args, base);
  const file = single(args, "remember") ?? "countersign-monitor.json";
  const before = (await io.isFile(file)) ? parseRemembered(decode(await io.readFile(file), file)) : null;
  const keys = readObject(await fetchText(io, `${base}/v1/pubkey`));
  const { remembered, proof, ...watched } = await monitorService(
    monitorSource(io, base, keys, args.values["witness-url"] ?? []),
    trust,
    before,
    io.nowSeconds(),
    readWatched(args),
  );
  const agents = remembered === null ? [] : await followAgents(args, io, base, trust);
  const checks = [...watched.checks, ...agents];
  const ok = remembered !== null && holds(checks);
  if (ok) await io.writeFile(file, encodeRemembered(remembered));
  const isProofless = ok || isNews(checks);
  const found = isProofless ? "" : `\n\n${toVisibleText(await writeProof(io, args, base, proof, checks))}`;
  const whole = describeUncounted(checks) === "" ? "valid" : "incomplete";
  const verdict = ok ? whole : "invalid";
  if (args.flags.has("json"))
    printJson(io, { kind: "monitor", verdict, checks, proof, keys: { pinned: isPinned, note } });
  else {
    const sentence = toVisibleText(describeMonitored(verdict, checks));
    io.print(`${formatChecks(checks)}\n\n${note}\n\n${sentence}${found}\n`);
  }
  return exitCodes[verdict];
}

/** Needs no network: a chain may lead through instances that are gone. */
export async function runChain(args: Arguments, io: CommandIo): Promise<number> {
  const files = args.values.keys ?? [];
  if (files.length === 0) throw new UsageError("chain needs --keys FILE, one of each instance");
  const read = async (file: string) => decode(await io.readFile(file), file);
  const trusts = await Promise.all(files.map(async (file) => parseTrust(await read(file))));
  const receipts = await Promise.all([args.target, ...(args.more ?? [])].map(read));
  const { checks, links, verdict } = await checkChain(receipts, trusts);
  if (args.flags.has("json")) printJson(io, { kind: "chain", verdict, checks, links });
  else {
    const isWarned = links.some(({ warnings }) => warnings.length > 0);
    const lines = links.map(({ agent_slug, action, origin }, i) =>
      toVisibleText(`${i === 0 ? "" : "by authority of "}${agent_slug} (${origin}): ${action ?? "private"}`),
    );
    io.print(
      `${formatChecks(checks)}\n\n${lines.join("\n")}\n\n${chainSentences[verdict === "valid" ? "pass" : verdict === "invalid" ? "fail" : "not_applicable"]}${isWarned ? " Read it with the warnings above." : ""}\n`,
    );
  }
  return exitCodes[verdict];
}

const chainSentences = {
  pass: "The chain holds, to its beginning.",
  fail: "The chain does NOT hold.",
  not_applicable: "Nothing failed, but the files don't show the whole chain.",
} as const;

const proofCodes = { pass: 0, fail: 1, not_applicable: 3 } as const;
const proofSentences = {
  pass: "This proves that the service did what it must not.",
  fail: "This proves nothing.",
  not_applicable: "This is what somebody saw. It proves nothing to others.",
} as const;

/** Keys that come with the file are the writer's word, unless the reader pins others. */
export async function runProof(args: Arguments, io: CommandIo): Promise<number> {
  const file = readObject(decode(await io.readFile(args.target), args.target));
  const isPinning = ["keys", "key", "log-vkey"].some((name) => args.values[name as "keys"] !== undefined);
  const pinned = isPinning ? await findTrust(io, args, undefined) : null;
  if (pinned === null && !isJsonObject(file["keys"]))
    throw new UnreadableError("keys: the file has none, so give them by --keys");
  const trust = pinned?.trust ?? parseTrust(file["keys"]);
  const note =
    pinned?.note ?? "Keys: NOT pinned. They came with the file: compare them with the ones you know.";
  const outcome = checkMisbehaviour(file, trust);
  if (args.flags.has("json"))
    printJson(io, { kind: "proof", ...outcome, keys: { pinned: pinned !== null, note } });
  else
    io.print(
      `${formatChecks([{ name: String(file["kind"]), ...outcome }])}\n\n${note}\n\n${proofSentences[outcome.status]}\n`,
    );
  return proofCodes[outcome.status];
}
