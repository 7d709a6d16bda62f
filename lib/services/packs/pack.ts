/**
 * The evidence pack (docs/wire.md, Evidence pack): all entries of an agent's record in a period with their proofs, for
 * somebody who checks them without this service. Written file by file; what is kept meanwhile is a row for each entry.
 */

import { and, asc, eq, inArray, isNotNull, lte, or } from "drizzle-orm";
import type { MemberPrincipal } from "#lib/api/http/context";
import type { LoggedStatement, RecordResponse, StatementsResponse } from "#lib/api/schemas/record";
import { agents, ruleSets } from "#lib/db/schema";
import { fieldError } from "#lib/errors";
import { createShare } from "#lib/jobs/fair-queue";
import { createPatientPool } from "#lib/jobs/zk-worker-pool";
import { readPublicKeys } from "#lib/log/keys/public-keys";
import { readStatements } from "#lib/log/reading/history";
import { makeSnapshot, readHeadRows, SnapshotTaken } from "#lib/log/records/agent-heads";
import {
  type GroupAttention,
  type GroupDecision,
  measureGroup,
  readGroupDecision,
} from "#lib/protocol/approval/attention";
import { utf8Encode } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import { type PackEntry, readPackEntry } from "#lib/protocol/pack/pack-entries";
import {
  agentFolder,
  describePack,
  encodeManifest,
  encodePackJson,
  maxPackEntries,
  numberedFile,
  PACK_VERSION,
  type PackFacts,
  type PackPeriod,
  packFiles,
  readCounted,
} from "#lib/protocol/pack/pack-manifest";
import {
  createTally,
  type PackAgent,
  type RowStyle,
  tallyEntries,
  writePackCsv,
  writePackReport,
} from "#lib/protocol/pack/pack-report";
import { renderRequirementsCsv } from "#lib/protocol/pack/requirements";
import { parseHeadsStatement } from "#lib/protocol/record/agent-heads";
import { recordAct } from "#lib/services/accounts/audit";
import { requireRole } from "#lib/services/accounts/members";
import { requireOwnAgent } from "#lib/services/agents/identities";
import { listMeasured, readStated } from "#lib/services/approvals/attention";
import type { Context } from "#lib/services/approvals/context";
import { readPackedPlanted } from "#lib/services/approvals/planted";
import type { OpeningChoice } from "#lib/services/approvals/read";
import { readProgramFile } from "#lib/services/attestations/receipt-files";
import { readAgentRecord } from "#lib/services/attestations/record";
import {
  createSizeList,
  describeGrowth,
  type EntryRow,
  findNewestPublic,
  findPackRange,
  type PackOwner,
  type PackRange,
  readEntryRows,
  readPackedEntries,
} from "./entry";
import { createZipWriter, type DeflatedFile, deflateTogether, type ZipWriter } from "./zip-writer";

/*
 * The signed count with which an evidence pack ends: only the service's own statement about the last number, with its
 * time, shows that nothing was cut off behind it.
 */

type Counted = PackFacts["record"]["counted"];

async function readHead(context: Context, slug: string): Promise<{ head: number; counted: Counted }> {
  const record = await readAgentRecord(context, slug, { from: 1, limit: 1 });
  return { head: record.head.sequence, counted: readCounted(record as unknown as JsonObject) };
}

/** Makes a new count; the pack is made without one too, and says so. */
async function makeCount(context: Context, { organizationId }: PackOwner): Promise<boolean> {
  const share = createShare("other", { organization: organizationId });
  try {
    await makeSnapshot({
      ...context,
      merge: (before, given) => context.pool.run("mergeHeads", { before, given }, share),
    });
    return true;
  } catch (error) {
    // Another process's snapshot, made meanwhile, counts as much.
    if (error instanceof SnapshotTaken) return true;
    context.logger.error({ err: error }, "an evidence pack is made without a signed count of its own");
    return false;
  }
}

/** Older, and a pack up to now gets a count of its own. */
const freshMs = 60_000;

interface CountedAgent {
  slug: string;
  owner: PackOwner;
  head: number;
  counted: Counted;
}

/** The records' last numbers, and a count of now or of the period's end: one is made unless all are in it. */
async function countRecords(
  context: Context,
  agents: readonly Pick<CountedAgent, "slug" | "owner">[],
  { from, to }: PackPeriod,
): Promise<CountedAgent[]> {
  const readHeads = async () => {
    const read: CountedAgent[] = [];
    for (const agent of agents) read.push({ ...agent, ...(await readHead(context, agent.slug)) });
    return read;
  };
  const known = await readHeads();
  const nowMs = context.clock().getTime();
  // A fresh one of the day before can't end a period that has begun since.
  const begunMs = Date.parse(from) < nowMs ? Date.parse(from) + 1 : 0;
  const neededMs = Math.min(Date.parse(to), Math.max(nowMs - freshMs, begunMs));
  const isCounted = ({ head, counted }: CountedAgent) =>
    head === 0 || (counted?.entries === head && Date.parse(counted.at) >= neededMs);
  const open = known.find((agent) => !isCounted(agent));
  if (open === undefined) return known;
  return (await makeCount(context, open.owner))
    ? readHeads()
    : known.map((agent) => ({ ...agent, counted: null }));
}

/**
 * Ends a period that has no entry after it with the count at the latest, or now if there is none: what is still to come can't
 * be signed.
 */
function endWithCount({ from, to }: PackPeriod, counted: Counted, now: Date): PackPeriod {
  const end = counted?.at ?? now.toISOString();
  if (end >= to) return { from, to };
  if (end <= from) throw fieldError("validation_error", "from", "must not be in the future");
  return { from, to: end };
}

/** The rows of a snapshot of more agents would be most of the pack. */
const maxRowAgents = 100_000;
const pageSize = 1_000;

/** Limit: each agent has a record of its own to read, and a place in the report. */
const maxPackAgents = 100;

export interface PackRequest {
  /** None: all agents of the organization that have entries. */
  agentSlugs: readonly string[];
  period: PackPeriod;
  withPrivate: boolean;
  /** None by default, and without private content. */
  opening?: OpeningChoice;
}

interface Writing {
  context: Context;
  zip: ZipWriter;
  sizes: ReturnType<typeof createSizeList>;
  addJson(name: string, value: unknown): Promise<Uint8Array>;
}

function beginWriting(context: Context): Writing {
  const zip = createZipWriter();
  const sizes = createSizeList();
  return {
    context,
    zip,
    sizes,
    addJson: (name, value) => {
      sizes.add(value);
      return zip.add(name, encodePackJson(value));
    },
  };
}

/** Times that a new snapshot may come while first pages are read. */
const maxReads = 5;

/** The first page of each agent's record, all with the same snapshot: its rows are in the pack once. */
async function readFirstPages(context: Context, slugs: readonly string[]): Promise<RecordResponse[]> {
  for (let reads = 1; ; reads += 1) {
    const pages: RecordResponse[] = [];
    for (const slug of slugs) pages.push(await readAgentRecord(context, slug, { from: 1, limit: pageSize }));
    const snapshots = pages.flatMap(({ snapshot }) => snapshot?.statement.payload ?? []);
    if (new Set(snapshots).size <= 1) return pages;
    if (reads === maxReads) throw new Error("records are counted faster than they are read");
  }
}

/** Writes up to the head of its first page. */
async function* writeRecord(
  { context, addJson }: Writing,
  slug: string,
  folder: string,
  firstPage: RecordResponse,
): AsyncGenerator<Uint8Array> {
  yield await addJson(`${folder}${numberedFile("record", 1)}`, firstPage);
  for (let from = pageSize + 1; from <= firstPage.head.sequence; from += pageSize)
    yield await addJson(
      `${folder}${numberedFile("record", from)}`,
      await readAgentRecord(context, slug, { from, limit: pageSize }),
    );
}

async function* writeRows(
  { context, zip }: Writing,
  pages: readonly RecordResponse[],
): AsyncGenerator<Uint8Array, boolean> {
  const snapshot = pages.find((page) => page.snapshot !== null)?.snapshot;
  const heads = snapshot && parseHeadsStatement(utf8Encode(snapshot.statement.payload));
  if (!snapshot || !heads || heads.agents > maxRowAgents) return false;
  const [, logId = 1] = /\/log\/(\d+)\/agent-heads\/\d+$/.exec(snapshot.rows_url) ?? [];
  const rows = await readHeadRows(context.database.db, Number(logId), heads.covers_size);
  if (rows === null) return false;
  yield await zip.add(packFiles.rows, rows);
  return true;
}

interface Written {
  entries: Pick<PackEntry, "state">[];
  tally: PackAgent["tally"];
  before: PackEntry | null;
  after: PackEntry | null;
  ruleVersions: Set<number>;
  decided: GroupDecision[];
}

/** Lists of entries under way: while one is read, others are verified, described and deflated. */
const listsAhead = 4;

/** Rows of the report that are written at once: their texts are kept to its end, and nothing else of the entries. */
const entriesTallied = 100;

/** Results in the order of the source, with up to {@link listsAhead} under way. */
async function* mapAhead<In, Out>(source: AsyncIterable<In>, work: (one: In) => Promise<Out>) {
  const underWay: Promise<Out>[] = [];
  try {
    for await (const one of source) {
      const done = work(one);
      // A failure is met in its turn.
      done.catch(() => undefined);
      underWay.push(done);
      const next = underWay.length > listsAhead ? underWay.shift() : undefined;
      if (next !== undefined) yield await next;
    }
    for (let next = underWay.shift(); next !== undefined; next = underWay.shift()) yield await next;
  } finally {
    // Failures of the rest are ignored after a failure or an early end.
    await Promise.allSettled(underWay);
  }
}

async function* writeEntries(
  { context, zip, sizes }: Writing,
  { slug, owner, folder }: PackedAgent,
  { before, after, first, last }: PackRange,
  newest: number | null,
  { reader, opening }: Pick<Reading, "reader" | "opening">,
): AsyncGenerator<Uint8Array, Written> {
  const { tally, add } = createTally();
  const written: Written = {
    ...{ entries: [], tally, before: null, after: null, ruleVersions: new Set(), decided: [] },
  };
  const share = createShare("other", { organization: owner.organizationId });
  const describe = async (rows: readonly EntryRow[], nameFile: (row: EntryRow) => string) => {
    // Objects and texts of an entry are large: they go before the next is read.
    const read = await readPackedEntries(context, rows, reader, opening, share, (row, json, statement) => {
      const entry = readPackEntry(nameFile(row), json, statement);
      sizes.add(json);
      const decision = readGroupDecision(entry, json);
      return { bytes: encodePackJson(json), entry, decision, rules: json["rules"] };
    });
    const files = read.map(({ bytes }) => bytes);
    const deflated = await deflateTogether(context, files, share);
    return read.map(({ bytes: _, ...one }, i) => ({ ...one, packed: deflated[i] as DeflatedFile }));
  };
  const noteRules = (rules: JsonValue | undefined) => {
    if (isJsonObject(rules)) written.ruleVersions.add(Number(rules["version"]));
  };
  const style: RowStyle = { slug, isOfSeveral: folder !== "", version: PACK_VERSION };
  let untallied: PackEntry[] = [];
  const tallyUp = () => {
    add(tallyEntries(untallied, style).tally);
    untallied = [];
  };
  const nameEntry = ({ attestation_id: id, sequence }: EntryRow) =>
    `${folder}${numberedFile(id === null ? "decisions" : "attestations", sequence)}`;
  const lists = readEntryRows(context.database, owner, first, last, after ?? last);
  for await (const list of mapAhead(lists, (rows) => describe(rows, nameEntry))) {
    const placed: Uint8Array[] = [];
    for (const { entry, decision, rules, packed } of list) {
      noteRules(rules);
      written.entries.push({ state: entry.state });
      untallied.push(entry);
      if (untallied.length === entriesTallied) tallyUp();
      if (decision !== null) written.decided.push(decision);
      placed.push(zip.place(entry.file, packed));
    }
    yield Buffer.concat(placed);
  }
  tallyUp();
  const isInPack = newest === null || (newest >= first && newest <= last) || [before, after].includes(newest);
  const beside = { before, after, newest: isInPack ? null : newest };
  for (const name of ["before", "after", "newest"] as const) {
    const number = beside[name];
    if (number === null) continue;
    const file = `${folder}${packFiles[name]}`;
    for await (const list of readEntryRows(context.database, owner, number, number))
      for (const { entry, rules, packed } of await describe(list, () => file)) {
        noteRules(rules);
        if (name !== "newest") written[name] = entry;
        yield zip.place(file, packed);
      }
  }
  return written;
}

async function* writeRules(
  { context, addJson }: Writing,
  { owner: { organizationId }, folder }: Pick<PackedAgent, "owner" | "folder">,
  versions: ReadonlySet<number>,
): AsyncGenerator<Uint8Array> {
  const { number, text, fallback, derivation } = ruleSets;
  if (versions.size === 0) return;
  // A suggested rule has its derivation in the version that added it.
  const isDerived = and(isNotNull(derivation), lte(number, Math.max(...versions)));
  const rows = await context.database.db
    .select({ version: number, text, fallback, derivation })
    .from(ruleSets)
    .where(and(eq(ruleSets.organization_id, organizationId), or(inArray(number, [...versions]), isDerived)))
    .orderBy(asc(number));
  for (const { derivation: derived, ...row } of rows)
    yield await addJson(`${folder}${numberedFile("rules", row.version)}`, {
      ...row,
      ...(derived !== null && { derivation: JSON.parse(derived) }),
    });
}

/** Writes nothing without content: nothing says then which groups decided. */
async function* writeAttention(
  { context: { database }, addJson }: Writing,
  { owner: { agentId, organizationId }, folder }: Pick<PackedAgent, "owner" | "folder">,
  decided: readonly GroupDecision[],
  period: PackPeriod,
): AsyncGenerator<Uint8Array> {
  const groups: GroupAttention[] = [];
  for (const group of await listMeasured(database.db, organizationId)) {
    const stated = await readStated(database.db, agentId, group, period);
    groups.push({ ...group, weeks: measureGroup(decided, group, period, stated) });
  }
  if (groups.length > 0) yield await addJson(`${folder}${packFiles.attention}`, { version: 1, groups });
}

/** Returns the last one. */
async function* writeStatements({ context, addJson }: Writing) {
  let last: LoggedStatement | undefined;
  for (let from: number | null = 1; from !== null; ) {
    const page: StatementsResponse = await readStatements(context.database, { from, limit: pageSize });
    yield await addJson(numberedFile("statements", from), page);
    last = page.statements.at(-1);
    from = page.next;
  }
  return last;
}

async function* writeSurroundings({ context, zip, sizes, addJson }: Writing): AsyncGenerator<Uint8Array> {
  yield await addJson(packFiles.keys, await readPublicKeys(context));
  yield await addJson(packFiles.log, await describeGrowth(context, sizes));
  const program = await readProgramFile("verify.mjs");
  if (program === null) throw new Error("dist/verify.mjs is not built");
  yield await zip.add(packFiles.verifier, program.bytes);
}

interface Reading {
  period: PackPeriod;
  /** Null for a pack without private content. */
  reader: MemberPrincipal | null;
  opening: OpeningChoice;
}

interface PackedAgent {
  slug: string;
  owner: PackOwner;
  /** Empty if the pack is of one agent. */
  folder: string;
}

/** Writes all files of one agent; returns its part of the report. */
async function* writeAgent(
  writing: Writing,
  agent: PackedAgent,
  firstPage: RecordResponse,
  hasRows: boolean,
  { period, ...reading }: Reading,
): AsyncGenerator<Uint8Array, PackAgent> {
  const { slug, owner, folder } = agent;
  const { database } = writing.context;
  yield* writeRecord(writing, slug, folder, firstPage);
  const head = firstPage.head.sequence;
  const range = await findPackRange(database, owner, head, period);
  const newest = await findNewestPublic(database, owner.agentId, head);
  const { ruleVersions, decided, tally, ...written } = yield* writeEntries(
    writing,
    agent,
    range,
    newest,
    reading,
  );
  yield* writeRules(writing, agent, ruleVersions);
  if (reading.reader !== null) yield* writeAttention(writing, agent, decided, period);
  const page = firstPage as unknown as JsonObject;
  return {
    facts: describePack({ period, firstPage: page, ...written, counts: tally.counts, hasRows }),
    tally,
  };
}

async function* writePack(
  given: Context,
  agents: readonly CountedAgent[],
  { period, withPrivate, opening = "none" }: PackRequest,
  person: MemberPrincipal,
): AsyncGenerator<Uint8Array> {
  const context = { ...given, pool: createPatientPool(given.pool) };
  const writing = beginWriting(context);
  const { zip } = writing;
  const pages = await readFirstPages(
    context,
    agents.map(({ slug }) => slug),
  );
  const hasRows = yield* writeRows(writing, pages);
  const reading = { period, reader: withPrivate ? person : null, opening };
  const packed: PackAgent[] = [];
  for (const [i, { slug, owner }] of agents.entries()) {
    const page = pages[i];
    if (page === undefined) throw new Error("an agent without a record");
    const folder = agents.length === 1 ? "" : agentFolder(i + 1);
    packed.push(yield* writeAgent(writing, { slug, owner, folder }, page, hasRows, reading));
  }
  const last = yield* writeStatements(writing);
  const planted = withPrivate
    ? await readPackedPlanted(context.database.db, person.organizationId, period, last)
    : null;
  if (planted !== null) yield await writing.addJson(packFiles.planted, planted);
  yield* writeSurroundings(writing);
  const report = writePackReport(packed, zip.files);
  yield await zip.add(packFiles.csv, utf8Encode(writePackCsv(packed).join("")));
  yield await zip.add(packFiles.requirements, utf8Encode(renderRequirementsCsv()));
  yield await zip.add(packFiles.report, utf8Encode(report.join("")));
  const all = packed.map(({ facts }) => facts);
  yield await zip.add(packFiles.manifest, encodeManifest(all, zip.files));
  yield zip.end();
}

/** A write for each small file would take a tenth of the time that a pack takes. */
const chunkBytes = 64 * 1024;

async function* joinParts(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let joined: Uint8Array[] = [];
  let length = 0;
  for await (const part of parts) {
    joined.push(part);
    length += part.length;
    if (length < chunkBytes) continue;
    yield Buffer.concat(joined);
    joined = [];
    length = 0;
  }
  if (length > 0) yield Buffer.concat(joined);
}

/** Named ones as they were asked for, each once; else all of the organization. */
async function findPackAgents(context: Context, person: MemberPrincipal, slugs: readonly string[]) {
  const { organizationId } = person;
  await requireRole(context.database.db, person, "take_out");
  const found: { id: string; slug: string }[] = [];
  for (const slug of slugs) found.push(await requireOwnAgent(context, person, slug));
  if (slugs.length === 0) {
    const { id, slug, organization_id } = agents;
    const rows = await context.database.db
      .select({ id, slug })
      .from(agents)
      .where(eq(organization_id, organizationId))
      .orderBy(asc(slug))
      .limit(maxPackAgents + 1);
    found.push(...rows);
  }
  const once = new Map(found.map(({ id, slug }) => [id, slug]));
  if (once.size > maxPackAgents)
    throw fieldError("validation_error", "agent", `a pack has at most ${maxPackAgents} agents: name some`);
  return [...once].map(([agentId, slug]) => ({ slug, owner: { agentId, organizationId } }));
}

const writeName = (agents: readonly CountedAgent[]) =>
  agents.length === 1 ? String(agents[0]?.slug) : `${agents.length}-agents`;

interface BegunPack {
  name: string;
  parts: AsyncGenerator<Uint8Array>;
  slugs: readonly string[];
  period: PackPeriod;
}

/** Begins a pack for members. Throws before the first byte if there is nothing to pack, or too much. */
export async function beginPack(
  context: Context,
  person: MemberPrincipal,
  request: PackRequest,
): Promise<BegunPack> {
  const { database } = context;
  const found = await findPackAgents(context, person, request.agentSlugs);
  const counted = await countRecords(context, found, request.period);
  const agents = request.agentSlugs.length > 0 ? counted : counted.filter(({ head }) => head > 0);
  if (agents.length === 0) throw fieldError("validation_error", "agent", "no agent has entries yet");
  let { period } = request;
  let entries = 0;
  for (const { owner, head, counted } of agents) {
    const { first, last, after } = await findPackRange(database, owner, head, request.period);
    entries += Math.max(0, last - first + 1);
    if (after === null) period = endWithCount(period, counted, context.clock());
  }
  if (entries > maxPackEntries)
    throw fieldError(
      "validation_error",
      "until",
      `the period has ${entries} entries, more than ${maxPackEntries}: choose a shorter one`,
    );
  const { from, to } = period;
  return {
    name: `evidence-${writeName(agents)}-${from.slice(0, 10)}-${to.slice(0, 10)}.zip`,
    parts: joinParts(writePack(context, agents, { ...request, period }, person)),
    slugs: agents.map(({ slug }) => slug),
    period,
  };
}

/** Like {@link beginPack}; the audit log has it. */
export async function makeEvidencePack(
  context: Context,
  person: MemberPrincipal,
  request: PackRequest,
): Promise<Pick<BegunPack, "name" | "parts">> {
  const { name, parts, slugs, period } = await beginPack(context, person, request);
  const audit = (action: string) =>
    recordAct(context, context.database.db, person, {
      action: `evidence_pack.${action}`,
      subject: slugs.join(", "),
      detail: { ...period, with_private: request.withPrivate, opened: request.opening ?? "none" },
    });
  await audit("made");
  return { name, parts: tellingFailure(parts, () => audit("cut_off")) };
}

/** Once streaming has started, an error can only abort the response. */
async function* tellingFailure(parts: AsyncGenerator<Uint8Array>, tell: () => Promise<void>) {
  try {
    yield* parts;
  } catch (error) {
    await tell();
    throw error;
  }
}
