/**
 * The evidence pack (docs/wire.md, Evidence pack): all entries of an agent's record in a period with their proofs, for
 * somebody who checks them without this service. Written file by file; what is kept meanwhile is a row for each entry.
 */
import { and, asc, eq, inArray } from "drizzle-orm";
import { actorOf, type MemberPrincipal } from "#lib/api/http/principal";
import type { RecordResponse } from "#lib/api/schemas/record";
import { ruleSets } from "#lib/db/schema";
import { AppError, fieldError } from "#lib/errors";
import { readPublicKeys } from "#lib/log/keys/public-keys";
import { readHeadRows } from "#lib/log/reading/public-log";
import { readStatements } from "#lib/log/reading/statements";
import { utf8Encode } from "#lib/protocol/encoding/bytes";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { type PackEntry, readPackEntry } from "#lib/protocol/pack/pack-entries";
import { encodePackJson, numberedFile, packFiles } from "#lib/protocol/pack/pack-files";
import { describePack, encodeManifest, type PackPeriod } from "#lib/protocol/pack/pack-manifest";
import { renderPackReport } from "#lib/protocol/pack/pack-report";
import { parseHeadsStatement } from "#lib/protocol/record/heads-statement";
import { recordAudit } from "#lib/services/accounts/audit";
import { requireOwnAgent } from "#lib/services/agents/portal-agents";
import type { Context } from "#lib/services/approvals/context";
import { readProgramFile } from "#lib/services/attestations/program-files";
import { readAgentRecord } from "#lib/services/attestations/record";
import { countRecord, endWithCount } from "./count";
import { describePackedEntry } from "./entry";
import { createSizeList, describeGrowth } from "./log";
import {
  type EntryRow,
  findNewestPublic,
  findPackRange,
  type PackOwner,
  type PackRange,
  readEntryRows,
} from "./range";
import { createZipWriter, type ZipWriter } from "./zip-writer";

/** A pack is checked as a whole, by people with patience: more belongs into several. */
const maxPackEntries = 20_000;
/** The rows of a snapshot of more agents would be most of the pack. */
const maxRowAgents = 100_000;
const pageSize = 1_000;

export interface PackRequest {
  agentSlug: string;
  period: PackPeriod;
  /** True to include the content of private attestations, and of requests. */
  withPrivate: boolean;
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

/** To the head of its first page, which it answers. */
async function* writeRecord(
  { context, addJson }: Writing,
  slug: string,
): AsyncGenerator<Uint8Array, RecordResponse> {
  const firstPage = await readAgentRecord(context, slug, { from: 1, limit: pageSize });
  yield await addJson(numberedFile("record", 1), firstPage);
  for (let from = pageSize + 1; from <= firstPage.head.sequence; from += pageSize)
    yield await addJson(
      numberedFile("record", from),
      await readAgentRecord(context, slug, { from, limit: pageSize }),
    );
  return firstPage;
}

/** False if there is no snapshot, or its rows are too many or no longer kept. */
async function* writeRows(
  { context, zip }: Writing,
  { snapshot }: RecordResponse,
): AsyncGenerator<Uint8Array, boolean> {
  const heads = snapshot && parseHeadsStatement(utf8Encode(snapshot.statement.payload));
  if (!heads || heads.agents > maxRowAgents) return false;
  const [, logId = 1] = /\/log\/(\d+)\/agent-heads\/\d+$/.exec(snapshot.rows_url) ?? [];
  const rows = await readHeadRows(context.database.db, Number(logId), heads.covers_size).catch((error) => {
    if (error instanceof AppError && error.errorName === "not_found") return null;
    throw error;
  });
  if (rows === null) return false;
  yield await zip.add(packFiles.rows, rows);
  return true;
}

interface Written {
  entries: PackEntry[];
  before: PackEntry | null;
  after: PackEntry | null;
  ruleVersions: Set<number>;
}

/** The period's entries, then those beside it. */
async function* writeEntries(
  { context, addJson }: Writing,
  owner: PackOwner,
  { before, after, first, last }: PackRange,
  newest: number | null,
  reader: MemberPrincipal | null,
): AsyncGenerator<Uint8Array, Written> {
  const written: Written = { entries: [], before: null, after: null, ruleVersions: new Set() };
  const describe = async (row: EntryRow) => {
    const json = (await describePackedEntry(context, row, reader)) as JsonObject;
    const { rules } = json as { rules?: { version: number } };
    if (rules !== undefined) written.ruleVersions.add(rules.version);
    return json;
  };
  for await (const row of readEntryRows(context.database, owner, first, last)) {
    const json = await describe(row);
    const folder = row.attestation_id === null ? "decisions" : "attestations";
    const file = numberedFile(folder, row.sequence);
    written.entries.push(readPackEntry(file, json));
    yield await addJson(file, json);
  }
  const isInPack = newest === null || (newest >= first && newest <= last) || [before, after].includes(newest);
  const beside = { before, after, newest: isInPack ? null : newest };
  for (const name of ["before", "after", "newest"] as const) {
    const number = beside[name];
    if (number === null) continue;
    for await (const row of readEntryRows(context.database, owner, number, number)) {
      const json = await describe(row);
      if (name !== "newest") written[name] = readPackEntry(packFiles[name], json);
      yield await addJson(packFiles[name], json);
    }
  }
  return written;
}

/** The versions of the rules that decided something here. */
async function* writeRules(
  { context, addJson }: Writing,
  organizationId: string,
  versions: ReadonlySet<number>,
): AsyncGenerator<Uint8Array> {
  const { number, text, fallback } = ruleSets;
  const rows = await context.database.db
    .select({ version: number, text, fallback })
    .from(ruleSets)
    .where(and(eq(ruleSets.organization_id, organizationId), inArray(number, [...versions])))
    .orderBy(asc(number));
  for (const row of rows) yield await addJson(numberedFile("rules", row.version), row);
}

async function* writeSurroundings({ context, zip, sizes, addJson }: Writing): AsyncGenerator<Uint8Array> {
  for (let from: number | null = 1; from !== null; ) {
    const page: Awaited<ReturnType<typeof readStatements>> = await readStatements(context.database, {
      from,
      limit: pageSize,
    });
    yield await addJson(numberedFile("statements", from), page);
    from = page.next;
  }
  yield await addJson(packFiles.keys, await readPublicKeys(context));
  yield await addJson(packFiles.log, await describeGrowth(context, sizes));
  const program = await readProgramFile("verify.mjs");
  if (program === null) throw new Error("dist/verify.mjs is not built");
  yield await zip.add(packFiles.verifier, program.bytes);
}

async function* writePack(
  context: Context,
  owner: PackOwner,
  { agentSlug, period, withPrivate }: PackRequest,
  person: MemberPrincipal,
): AsyncGenerator<Uint8Array> {
  const writing = beginWriting(context);
  const { zip } = writing;
  const record = yield* writeRecord(writing, agentSlug);
  const hasRows = yield* writeRows(writing, record);
  const head = record.head.sequence;
  const range = await findPackRange(context.database, owner, head, period);
  const newest = await findNewestPublic(context.database, owner.agentId, head);
  const { ruleVersions, ...written } = yield* writeEntries(
    writing,
    owner,
    range,
    newest,
    withPrivate ? person : null,
  );
  yield* writeRules(writing, owner.organizationId, ruleVersions);
  yield* writeSurroundings(writing);
  const firstPage = record as unknown as JsonObject;
  const facts = describePack({ period, firstPage, ...written, hasRows });
  const report = renderPackReport(facts, written.entries, zip.files);
  yield await zip.add(packFiles.report, utf8Encode(report));
  yield await zip.add(packFiles.manifest, encodeManifest(facts, zip.files));
  yield zip.end();
}

/** For members. Throws before the first byte if there is nothing to pack, or too much. */
export async function makeEvidencePack(
  context: Context,
  person: MemberPrincipal,
  request: PackRequest,
): Promise<{ name: string; parts: AsyncGenerator<Uint8Array> }> {
  const { organizationId } = person;
  const { database } = context;
  const agent = await requireOwnAgent(context, person, request.agentSlug);
  const owner = { agentId: agent.id, organizationId };
  const { head, counted } = await countRecord(context, owner, agent.slug, request.period);
  const { first, last, after } = await findPackRange(database, owner, head, request.period);
  if (last - first >= maxPackEntries)
    throw fieldError(
      "validation_error",
      "until",
      `the period has ${last - first + 1} entries, more than ${maxPackEntries}: choose a shorter one`,
    );
  const period = after === null ? endWithCount(request.period, counted) : request.period;
  const { from, to } = period;
  const audit = (action: string) =>
    recordAudit(context, database.db, {
      organizationId,
      actor: actorOf(person),
      action: `evidence_pack.${action}`,
      subject: agent.slug,
      detail: { from, to, with_private: request.withPrivate },
    });
  await audit("made");
  const name = `evidence-${agent.slug}-${from.slice(0, 10)}-${to.slice(0, 10)}.zip`;
  const parts = writePack(context, owner, { ...request, period, agentSlug: agent.slug }, person);
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
