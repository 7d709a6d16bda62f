import {
  type AttentionWeek,
  type GroupDecision,
  isAnyStated,
  measureGroup,
  parseAttention,
  pickStated,
} from "#lib/protocol/approval/attention";
import {
  countPlanted,
  describePlantedCount,
  findPlantedFault,
  isPackedPlanted,
  parsePlantedStatement,
} from "#lib/protocol/approval/planted";
import { bytesEqual, hexEncode, isUuid, sha256, utf8Decode, utf8Encode } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import type { ByteSource, ZipTools } from "#lib/protocol/encoding/zip";
import {
  describeFile,
  describePack,
  filesIn,
  findCheckpoints,
  makeManifest,
  numberedFile,
  type PackFacts,
  type PackPeriod,
  packFiles,
  writeManifest,
} from "#lib/protocol/pack/pack-manifest";
import { type PackCheck, packFault, packGap, packPass, withWarnings } from "#lib/protocol/pack/pack-reasons";
import {
  createTally,
  type PackAgent,
  type Piece,
  writePackCsv,
  writePackReport,
} from "#lib/protocol/pack/pack-report";
import type { PackRow } from "#lib/protocol/pack/pack-rows";
import { renderRequirementsCsv } from "#lib/protocol/pack/requirements";
import type { Cedar } from "#lib/protocol/policy/cedar";
import type { PastRequest } from "#lib/protocol/policy/suggest";
import { formatCount } from "#lib/protocol/text/display-text";
import { checkRecord, readRecordPage } from "#lib/verifier/checks/check-record";
import { findMaker, type ListedStatement, readStatementList } from "#lib/verifier/checks/check-sum";
import { UnreadableError } from "#lib/verifier/checks/evidence";
import { parseTrust, type VerifierTrust } from "#lib/verifier/checks/trust";
import { checkFiles, listAgentPacks, type OpenPack, openPack } from "./archive";
import {
  checkAgent,
  checkPeriod,
  createCheckpointList,
  describeEntries,
  findForeign,
  type ReadPack,
  readEntries,
} from "./entries";
import {
  type EntryFindings,
  type EntryReaders,
  isUnreadable,
  type OpenReaders,
  type ReadPart,
  readHere,
} from "./read-entry";
import { createRuledList, judgeDerivations, type StandingFacts } from "./ruled";
import { createGroundList, createUseList } from "./uses";
import { createVerdictList } from "./verdicts";

export interface PackRequest {
  tools: ZipTools;
  /** Keys that the reader pins; null: those of the pack. */
  trust: VerifierTrust | null;
  /** The program that runs, to compare the pack's with; null if it is another one. */
  program: Uint8Array | null;
  onProgress?: (done: number, total: number) => void;
  /** The reader's own copy, with which rules' decisions are evaluated again. */
  cedar?: Cedar;
  /** Default: entries are read one after the other. */
  openReaders?: OpenReaders;
  /** Takes the entries as the report has them, for a reader who shows them too. */
  onRows?: (rows: readonly PackRow[]) => void;
}

export interface PackReport {
  checks: PackCheck[];
  agents: PackAgent[];
  /** Facts of the first agent; null if something failed. */
  facts: PackFacts | null;
  verdict: "valid" | "invalid" | "incomplete";
  /** `report.html` and `report.csv`, which packs of version 1 don't have; null if something failed. */
  html: Uint8Array | null;
  csv: Uint8Array | null;
}

const sentences: Record<PackReport["verdict"], string> = {
  valid: "The pack holds: it says what its receipts say, and nothing of its period is missing.",
  invalid: "The pack does NOT hold: a check failed, so do not rely on anything in it.",
  incomplete: "Nothing failed, but the pack does not carry everything that the checks read.",
};
const uncounted =
  "Nothing failed, but the end of the period is not counted: entries of it may be missing from the pack.";

export const explainVerdict = ({ verdict, checks }: PackReport): string =>
  checks.some(({ reason }) => reason === "period_not_counted") && verdict === "incomplete"
    ? uncounted
    : sentences[verdict];

export const listWarnings = ({ checks }: PackReport): string[] =>
  checks.flatMap((check) => check.warnings ?? []);

const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

function readPeriod({ period }: JsonObject): PackPeriod {
  const { from, to } = isJsonObject(period) ? period : {};
  if (
    typeof from !== "string" ||
    typeof to !== "string" ||
    ![from, to].every((time) => timePattern.test(time))
  )
    throw new UnreadableError("manifest.json: period: expected two times");
  return { from, to };
}

function reportUnreadable(error: unknown): PackCheck[] {
  if (!isUnreadable(error)) throw error;
  return [packFault("record", "archive_unreadable", { problem: error.message })];
}

function watchFiles(pack: OpenPack) {
  const seen = new Set<string>();
  const see = (name: string) => {
    seen.add(name);
    return name;
  };
  const pages = [...filesIn("record", pack.names), ...filesIn("statements", pack.names)];
  return {
    readJson: (name: string) => pack.readJson(see(name)),
    readRows: async () => (pack.has(see(packFiles.rows)) ? pack.read(packFiles.rows) : null),
    findUnread: () => [...pages, packFiles.rows].find((name) => pack.has(name) && !seen.has(name)),
  };
}

/** The record as the service answered it; every hash of the period must be the one that its file has. */
async function followRecord(
  pack: OpenPack,
  read: ReadPack,
  grounds: ReturnType<typeof createGroundList>,
  trust: VerifierTrust,
): Promise<PackCheck[]> {
  const listed = new Map<number, Uint8Array>();
  const watched = watchFiles(pack);
  const readStatements = async (from: number) => watched.readJson(numberedFile("statements", from));
  const report = await checkRecord(
    {
      readPage: async (from) => {
        const page = await watched.readJson(numberedFile("record", from));
        for (const { sequence, payloadHash } of readRecordPage(page).entries) {
          // Shares one array between both.
          const own = read.hashes.get(sequence);
          listed.set(sequence, own && bytesEqual(own, payloadHash) ? own : payloadHash);
        }
        return page;
      },
      readAnswer: async (id) => utf8Decode(await pack.read(read.answers.get(id) ?? packFiles.newest)),
      readRows: watched.readRows,
      readStatements,
    },
    trust,
    { held: read.held, nowSeconds: null },
  );
  const checks = report.checks
    // The count must reach the end of the period.
    .filter(({ name }) => name !== "receipts" && name !== "counted")
    .map(({ name, ...outcome }): PackCheck => ({ name: `record ${name}`, ...outcome }));
  const foreign = findForeign(read, listed);
  if (foreign !== undefined)
    return [...checks, packFault("record files", "entry_foreign", { file: `number ${foreign}` })];
  // Unread after a fault: everything that follows it.
  if (report.verdict === "invalid") return checks;
  // The sum is over the statements up to the snapshot, and a pack has those after it too.
  checks.push(grounds.judge(await readStatementList({ readStatements }), trust));
  const unread = watched.findUnread();
  return unread === undefined
    ? checks
    : [...checks, packFault("record files", "file_unknown", { file: unread })];
}

function findDifference(stated: JsonValue | undefined, found: JsonValue, path: string): string {
  if (!isJsonObject(stated) || !isJsonObject(found)) return path;
  const names = [...new Set([...Object.keys(found), ...Object.keys(stated)])];
  const name = names.find((one) => JSON.stringify(stated[one]) !== JSON.stringify(found[one]));
  if (name === undefined) return path;
  return findDifference(stated[name], found[name] ?? null, path === "" ? name : `${path}.${name}`);
}

/** True if the bytes are these pieces, one after the other. */
function isMadeOf(bytes: Uint8Array, pieces: Iterable<Piece>): boolean {
  let at = 0;
  for (const piece of pieces) {
    const text = typeof piece === "string" ? utf8Encode(piece) : null;
    const length = typeof piece === "string" ? (text?.length ?? 0) : piece.bytes;
    const own = bytes.subarray(at, at + length);
    const isSame =
      typeof piece === "string"
        ? bytesEqual(own, text ?? own)
        : own.length === length && hexEncode(sha256(own)) === piece.sha256;
    if (!isSame) return false;
    at += length;
  }
  return at === bytes.length;
}

/** Manifest, report and its CSV are made again from the files, and compared. */
async function compareWords(pack: OpenPack, agents: readonly PackAgent[]): Promise<PackCheck[]> {
  const { version } = pack;
  const files = pack.listNamed();
  const all = agents.map(({ facts }) => facts);
  const isOwn = isMadeOf(await pack.read(packFiles.manifest), writeManifest(all, files, version));
  const field = isOwn
    ? ""
    : findDifference(pack.manifest, makeManifest(all, files, version) as unknown as JsonObject, "") ||
      "order or spelling";
  const written: string[] = [packFiles.report, packFiles.csv, packFiles.requirements];
  const described = files.filter(({ name }) => !written.includes(name));
  const words = new Map([[packFiles.report as string, writePackReport(agents, described, version)]]);
  if (version !== 1) {
    words.set(packFiles.csv, writePackCsv(agents));
    words.set(packFiles.requirements, [renderRequirementsCsv()]);
  }
  let other: string | undefined;
  for (const [name, pieces] of words) {
    const bytes = await pack.read(name);
    pack.note(describeFile(name, bytes));
    if (!isMadeOf(bytes, pieces)) other ??= name;
  }
  return [
    isOwn
      ? packPass("manifest", "it says what follows from the files")
      : packFault("manifest", "manifest_mismatch", { field }),
    other === undefined
      ? packPass("report", "byte for byte the one that follows from the files")
      : packFault("report", "report_mismatch", { file: other }),
  ];
}

async function compareProgram(pack: OpenPack, program: Uint8Array | null): Promise<PackCheck> {
  return program !== null && bytesEqual(await pack.read(packFiles.verifier), program)
    ? packPass("verifier", "verify.mjs in the pack is the program that runs or is served here")
    : packGap("verifier", "verifier_other");
}

function judge(
  checks: PackCheck[],
  agents: readonly PackAgent[],
  { html = null, csv = null }: Partial<Pick<PackReport, "html" | "csv">> = {},
): PackReport {
  const isFailed =
    agents.length === 0 || checks.some(({ status }) => status === "fail" || status === "not_run");
  const own = new Set([
    "attestations",
    "decisions",
    "record snapshot",
    "agent",
    "period",
    "rules",
    "derivations",
    "verifier",
  ]);
  const isOpen = checks.some(({ name, status }) => status === "not_applicable" && own.has(name));
  const whole = isOpen ? "incomplete" : "valid";
  const held = isFailed ? [] : [...agents];
  return {
    checks,
    agents: held,
    facts: held[0]?.facts ?? null,
    verdict: isFailed ? "invalid" : whole,
    html: isFailed ? null : html,
    csv: isFailed ? null : csv,
  };
}

/** None for a pack without. */
async function judgeAttention(
  pack: OpenPack,
  decided: readonly GroupDecision[],
  period: PackPeriod,
): Promise<PackCheck[]> {
  if (!pack.has(packFiles.attention)) return [];
  const json = await pack.readJson(packFiles.attention);
  const groups = parseAttention(json);
  const mismatch = (group: string) =>
    packFault("attention", "attention_mismatch", { file: `${pack.folder}${packFiles.attention}`, group });
  if (groups === null) return [mismatch("a group")];
  const said: string[] = [];
  for (const { group, name, since, weeks } of groups) {
    const stated = new Map(weeks.filter(isAnyStated).map((one) => [one.week, pickStated(one)]));
    const made = measureGroup(decided, { group, since }, period, stated);
    if (JSON.stringify(made) !== JSON.stringify(weeks)) return [mismatch(name)];
    const sum = (count: (week: AttentionWeek) => number) => made.reduce((all, one) => all + count(one), 0);
    const total = sum(({ approved, denied }) => approved + denied);
    const [read, not] = [sum((one) => one.read_to_end), sum((one) => one.not_read_to_end)];
    const reading = read + not === 0 ? "" : `, ${read} of ${read + not} read to the end as the service says`;
    said.push(
      `${name}: ${formatCount(total, "decision")}, ${sum((one) => one.within_3_s)} within 3 s${reading}`,
    );
  }
  return [packPass("attention", said.join("; "))];
}

/**
 * None for a pack without, unless the log has a schedule that ends in the period: whoever shows decisions with their content
 * (`shownOf`: their organizations) has to show that too. `used`: hashes of the requests that approvals are of, each with its
 * organization.
 */
async function judgePlanted(
  pack: OpenPack,
  period: PackPeriod & { counted: readonly string[] },
  trust: VerifierTrust,
  used: ReadonlyMap<string, string>,
  shownOf: ReadonlySet<string>,
): Promise<PackCheck[]> {
  const isThere = pack.has(packFiles.planted);
  if (!isThere && shownOf.size === 0) return [];
  const name = "planted requests";
  const fail = (problem: string) => [packFault(name, "planted_mismatch", { problem })];
  const none = (organization: string) => ({ version: 1 as const, organization, schedules: [] });
  const shown: unknown[] = isThere ? [await pack.readJson(packFiles.planted)] : [...shownOf].map(none);
  if (!shown.every(isPackedPlanted)) return fail("not schedules and openings");
  const all = await readStatementList({
    readStatements: (from) => pack.readJson(numberedFile("statements", from)),
  });
  if (!Array.isArray(all)) return fail("the service's own statements can't be read");
  const logged = (all as readonly ListedStatement[]).flatMap((statement) => {
    const planted = parsePlantedStatement(statement.payload);
    return planted !== null && findMaker(statement, trust) !== undefined ? [planted] : [];
  });
  const problems = shown.map((one) => findPlantedFault(one, logged, period, used));
  const problem = problems.find((one) => one !== null);
  if (problem) return fail(problem);
  const [json] = shown;
  if (!isThere || json === undefined) return [];
  const counts = countPlanted(json, logged);
  const warnings = counts.flatMap((count) =>
    count.unopened === 0
      ? []
      : `${formatCount(count.unopened, "planted request")} of ${count.name} ${count.unopened === 1 ? "was" : "were"} not opened in time, and ${count.unopened === 1 ? "counts" : "count"} as missed`,
  );
  return [
    withWarnings(
      packPass(name, counts.map(describePlantedCount).join("; ") || "no schedule ends in the period"),
      warnings,
    ),
  ];
}

interface AgentRequest {
  trust: VerifierTrust;
  checkpoints: ReturnType<typeof createCheckpointList>;
  period: PackPeriod;
  cedar: Cedar | null;
  readers: EntryReaders;
  isOfSeveral: boolean;
  /** No other agent's entries are read after this one's. */
  isLast: boolean;
  onProgress: () => void;
  onRows: PackRequest["onRows"];
  /** Gathers the hashes of the requests that approvals are of, with their organizations. */
  used: Map<string, string>;
  /** Gathers the organizations of decisions that are shown. */
  shownOf: Set<string>;
}

/** Throws {@link UnreadableError}. */
async function* readFiles(
  pack: OpenPack,
  parts: AsyncIterable<ReadPart>,
  onPart: (part: ReadPart) => void,
): AsyncGenerator<EntryFindings> {
  for await (const part of parts) {
    for (const { file, found } of part.files) {
      if (file !== null) pack.note(file);
      if ("problem" in found) throw new UnreadableError(found.problem);
      yield found;
    }
    onPart(part);
  }
}

/** Checks the files of one agent; `agent` is null after a fault that nothing can follow. */
async function checkAgentPack(
  pack: OpenPack,
  {
    trust,
    checkpoints,
    period,
    cedar,
    readers,
    isOfSeveral,
    isLast,
    onProgress,
    onRows,
    used,
    shownOf,
  }: AgentRequest,
): Promise<{ checks: PackCheck[]; agent: PackAgent | null }> {
  const uses = createUseList();
  const ruled = createRuledList();
  const past: PastRequest[] = [];
  const standing: NonNullable<StandingFacts>[] = [];
  const decided: GroupDecision[] = [];
  const verdicts = createVerdictList();
  const grounds = createGroundList();
  const { tally, add: addToTally } = createTally();
  const firstPage = await pack.readJson(numberedFile("record", 1));
  const style = {
    ...{ slug: String(firstPage["slug"]), isOfSeveral, version: pack.version },
    withRows: onRows !== undefined,
  };
  const onEntry = (found: EntryFindings, isBeside: boolean) => {
    grounds.add(found.grounds);
    uses.add(found.use);
    const object = found.use?.object;
    if (object) used.set(object.binding.request_hash, object.request.organization);
    if (object && found.use?.isDecision && isUuid(object.request.organization))
      shownOf.add(object.request.organization);
    ruled.add(found.ruled);
    if (found.past !== null) past.push(found.past);
    if (found.standing !== null) standing.push(found.standing);
    if (found.group !== null) decided.push(found.group);
    if (isBeside) verdicts.addBeside(found.said);
    else verdicts.add(found.said);
    return checkpoints.add(found.entry.file, found.checkpoints);
  };
  const { read, fault } = await readEntries(
    pack,
    (names, isBeside) =>
      readFiles(pack, readers.read(names.map(pack.place), style), (part) => {
        if (isBeside) return;
        addToTally(part.tally);
        onRows?.(part.rows);
      }),
    onEntry,
    onProgress,
  );
  if (fault !== null) return { checks: [fault], agent: null };
  // Frees the threads' memory for the record.
  if (isLast) readers.close();
  const { before, after, entries } = read;
  const hasRows = pack.has(packFiles.rows);
  const { counts } = tally;
  const facts = describePack({ period, firstPage, before, after, entries, counts, hasRows });
  const foreign = checkpoints.add(`${pack.folder}${numberedFile("record", 1)}`, findCheckpoints(firstPage));
  const record = await followRecord(pack, read, grounds, trust).catch(reportUnreadable);
  const derivations = await judgeDerivations(pack, past, standing, trust);
  const holds = (wanted: string) => record.some(({ name, status }) => name === wanted && status === "pass");
  const checks = [
    ...describeEntries(read),
    uses.judge(),
    await ruled.judge(pack, cedar),
    ...(derivations === null ? [] : [derivations]),
    ...(await judgeAttention(pack, decided, period)),
    verdicts.judge(),
    ...record,
    checkAgent(read, facts.agent.slug, holds("record newest_signed")),
    checkPeriod(read, facts, holds("record snapshot")),
    ...(foreign === null ? [] : [foreign]),
  ];
  return { checks, agent: { facts, tally } };
}

/** A line for each check: the first that failed, else the first that is open, else that it holds for every agent. */
function joinChecks(found: readonly { checks: readonly PackCheck[]; slug: string }[]): PackCheck[] {
  const [first, ...others] = found;
  if (first === undefined || others.length === 0) return [...(first?.checks ?? [])];
  const names = new Set(found.flatMap(({ checks }) => checks.map(({ name }) => name)));
  return [...names].map((name) => {
    const all = found.flatMap(({ checks, slug }) =>
      checks.filter((check) => check.name === name).map((check) => ({ check, slug })),
    );
    const is = (...wanted: PackCheck["status"][]) => all.find(({ check }) => wanted.includes(check.status));
    const worst = is("fail", "not_run") ?? is("not_applicable");
    const warnings = all.flatMap(({ check, slug }) =>
      (check.warnings ?? []).map((text) => `${slug}: ${text}`),
    );
    const joined =
      worst === undefined
        ? packPass(name, `holds for each of ${found.length} agents`)
        : { ...worst.check, detail: `${worst.slug}: ${worst.check.detail}` };
    return withWarnings(joined, warnings);
  });
}

/** Counted twice, its amounts would be too. */
function findRepeated(agents: readonly PackAgent[]): PackCheck[] {
  const slugs = agents.map(({ facts }) => facts.agent.slug.toLowerCase());
  const ids = agents.map(({ facts }) => facts.agent.agent_id);
  const at = slugs.findIndex((slug, i) => slugs.indexOf(slug) < i || ids.indexOf(ids[i] ?? "") < i);
  return at === -1 ? [] : [packFault("agent", "agent_repeated", { slug: String(slugs[at]) })];
}

async function checkOpen(pack: OpenPack, request: PackRequest): Promise<PackReport> {
  const trust = request.trust ?? parseTrust(await pack.readJson(packFiles.keys));
  const checkpoints = createCheckpointList(trust);
  const period = readPeriod(pack.manifest);
  const total = pack.names.filter((name) => /(?:^|\/)(?:attestations|decisions)\//.test(name)).length;
  let done = 0;
  const onProgress = () => {
    done += 1;
    request.onProgress?.(Math.min(done, total), total);
  };
  const used = new Map<string, string>();
  const shownOf = new Set<string>();
  const readers = (request.openReaders ?? readHere(request.tools))(pack.source, trust, total);
  const packs = listAgentPacks(pack);
  const shared: Omit<AgentRequest, "isLast"> = {
    ...{ trust, checkpoints, period, cedar: request.cedar ?? null, readers, onProgress },
    ...{ isOfSeveral: packs.length > 1, onRows: request.onRows, used, shownOf },
  };
  const found: { checks: PackCheck[]; slug: string }[] = [];
  const agents: PackAgent[] = [];
  try {
    for (const own of packs) {
      const { checks, agent } = await checkAgentPack(own, { ...shared, isLast: own === packs.at(-1) });
      found.push({ checks, slug: agent?.facts.agent.slug ?? own.folder });
      if (agent === null) return judge(joinChecks(found), []);
      agents.push(agent);
    }
  } finally {
    readers.close();
  }
  const log = await pack.readJson(packFiles.log);
  const counted = agents.flatMap(({ facts }) => facts.record.counted?.at ?? []);
  // Statements may be unreadable after a fault, too.
  if (found.some(({ checks }) => checks.some(({ status }) => status === "fail"))) shownOf.clear();
  return judge(
    [
      ...joinChecks(found),
      ...findRepeated(agents),
      ...(await judgePlanted(pack, { ...period, counted }, trust, used, shownOf)),
      checkpoints.add(packFiles.log, findCheckpoints(log)) ?? checkpoints.judge(log),
      ...(await compareWords(pack, agents)),
      await compareProgram(pack, request.program),
    ],
    agents,
    request.onRows && {
      html: await pack.read(packFiles.report),
      csv: pack.version === 1 ? null : await pack.read(packFiles.csv),
    },
  );
}

export async function checkPack(source: ByteSource, request: PackRequest): Promise<PackReport> {
  const { checks, pack } = await openPack(source, request.tools);
  if (pack === null) return judge(checks, []);
  const report = await checkOpen(pack, request).catch((error: unknown) => {
    if (!isUnreadable(error)) throw error;
    return judge([packFault("content", "archive_unreadable", { problem: error.message })], []);
  });
  const files = await checkFiles(pack);
  if (files.name === "archive") return judge([files], []);
  if (files.status === "fail") return judge([...checks, files], []);
  return { ...report, checks: [...checks, files, ...report.checks] };
}
