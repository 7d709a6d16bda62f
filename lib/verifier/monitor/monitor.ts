/**
 * `monitor`: what an outsider remembers of the log and of all records, compared with what the service shows now. The tree
 * only grows, every statement of the service is where its list has it, the newest snapshot adds up, and no record in it
 * has become shorter or another one.
 */
import { type PlantedStatement, parsePlantedStatement } from "#lib/protocol/approval/planted";
import { base64Encode, bytesEqual, utf8Decode } from "#lib/protocol/encoding/bytes";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { parseRosterStatement, rosterOrganization } from "#lib/protocol/passkey/roster";
import {
  buildHeadsTree,
  countRows,
  decodeHeadRow,
  findRow,
  HEAD_ROW_BYTES,
  headsTileReader,
  parseHeadsStatement,
  rowAt,
} from "#lib/protocol/record/agent-heads";
import { fail, failBy, type Outcome, pass, skip } from "#lib/protocol/statement/outcome";
import { PRODUCT_URI } from "#lib/protocol/statement/product";
import { formatCount } from "#lib/protocol/text/display-text";
import { readableTime } from "#lib/protocol/time/time-words";
import { type Checkpoint, readOrigin, verifyCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { leafHash, verifyInclusion } from "#lib/protocol/tlog/merkle";
import { proveConsistency, proveInclusion, rootAtSize, type TileReader } from "#lib/protocol/tlog/tiles";
import { checkFresh } from "#lib/verifier/checks/check-counted";
import {
  checkConsistency,
  checkWholeLog,
  holds,
  type LogSource,
  tileReader,
} from "#lib/verifier/checks/check-log";
import {
  buildLeaf,
  checkHeadsStatement,
  checkSum,
  findMaker,
  type ListedStatement,
  readLoggedStatement,
  readStatementList,
  type SignedHeads,
  type SumSource,
} from "#lib/verifier/checks/check-sum";
import {
  decodeBase64,
  readObject,
  requireIndex,
  requireObject,
  requireText,
  UnreadableError,
} from "#lib/verifier/checks/evidence";
import { checkMisbehaviour, MISBEHAVIOUR_TYPE } from "#lib/verifier/checks/misbehaviour";
import { chooseLogKey, type VerifierTrust } from "#lib/verifier/checks/trust";
import type { VerifierCheck } from "#lib/verifier/report/report";

/* Evidence found by the monitor, in a form that others can check (misbehaviour.ts). */

/* State of the monitor between two runs. */

const MONITOR_TYPE = `${PRODUCT_URI}/monitor/v1`;

export interface RememberedSnapshot {
  statement: JsonObject;
  rows: Uint8Array;
}

export interface Remembered {
  checkpoint: string;
  statements: number;
  snapshot: RememberedSnapshot | null;
  /** Keyed by the organization's id. */
  rosters: Record<string, SeenRoster>;
}

/** Parses the file that was kept; throws UnreadableError for any other. */
export function parseRemembered(text: string): Remembered {
  const file = readObject(text);
  if (file["type"] !== MONITOR_TYPE) throw new UnreadableError("not a file that the monitor has kept");
  const snapshot = file["snapshot"] === null ? null : requireObject(file, "snapshot");
  const rosters = Object.entries(requireObject(file, "rosters")).map(([id, seen]) => {
    const roster = requireObject({ [id]: seen }, id);
    return [id, { number: requireIndex(roster, "number"), hash: requireText(roster, "hash") }] as const;
  });
  return {
    checkpoint: requireText(file, "checkpoint"),
    statements: requireIndex(file, "statements"),
    snapshot: snapshot && {
      statement: requireObject(snapshot, "statement"),
      rows: decodeBase64(requireText(snapshot, "rows"), "rows"),
    },
    rosters: Object.fromEntries(rosters),
  };
}

export function encodeRemembered({ checkpoint, statements, snapshot, rosters }: Remembered): string {
  const kept = snapshot && { statement: snapshot.statement, rows: base64Encode(snapshot.rows) };
  return `${JSON.stringify({ type: MONITOR_TYPE, checkpoint, statements, snapshot: kept, rosters })}\n`;
}

export interface OpenedLog {
  source: LogSource;
  checkpoint: Checkpoint;
  tiles: TileReader;
}

function openLog(source: LogSource, trust: VerifierTrust): OpenedLog | null {
  const signed = verifyCheckpoint(source.checkpoint, chooseLogKey(source.checkpoint, trust));
  if (!signed.ok) return null;
  return { source, checkpoint: signed.checkpoint, tiles: tileReader(source, signed.checkpoint.size) };
}

/** Two signed trees of one log of which neither continues the other; null if the log's own files do not show it. */
async function proveFork(older: string, { source, checkpoint, tiles }: OpenedLog, trust: VerifierTrust) {
  const before = verifyCheckpoint(older, chooseLogKey(older, trust));
  if (!before.ok || before.checkpoint.size > checkpoint.size) return null;
  const { size } = before.checkpoint;
  const [prefix, proof] = [
    await rootAtSize(size, tiles),
    await proveConsistency(size, checkpoint.size, tiles),
  ];
  return {
    type: MISBEHAVIOUR_TYPE,
    kind: "fork",
    ...{ older, newer: source.checkpoint },
    prefix_root: base64Encode(prefix),
    consistency_proof: proof.map(base64Encode),
  };
}

/** A listed statement with its leaf's place in the log, as evidence; null if it is not there. */
async function locate(
  { payload, signature, envelopeSignature, keyId, logOrigin, logIndex }: ListedStatement,
  { checkpoint, source, tiles }: OpenedLog,
  trust: VerifierTrust,
): Promise<JsonObject | null> {
  const key = findMaker({ payload, signature, envelopeSignature, keyId }, trust);
  if (key === undefined || logIndex >= checkpoint.size || logOrigin !== checkpoint.origin) return null;
  const entry = buildLeaf({ payload, signature, envelopeSignature, keyId }, key);
  const { size, root } = checkpoint;
  const proof = await proveInclusion(logIndex, size, tiles);
  if (!verifyInclusion({ leafHash: leafHash(entry), index: logIndex, size, proof, root })) return null;
  return {
    payload: utf8Decode(payload),
    signature: base64Encode(signature),
    envelope_signature: base64Encode(envelopeSignature),
    key_id: keyId,
    log: {
      origin: logOrigin,
      index: logIndex,
      tree_size: size,
      entry: base64Encode(entry),
      inclusion_proof: proof.map(base64Encode),
      checkpoint: source.checkpoint,
    },
  };
}

async function showRow({ statement, rows }: RememberedSnapshot, tag: Uint8Array): Promise<JsonObject> {
  const { nodes, agents } = buildHeadsTree(rows);
  const tiles = headsTileReader(agents, nodes, async (start, count) =>
    rows.slice(start * HEAD_ROW_BYTES, (start + count) * HEAD_ROW_BYTES),
  );
  const show = async (index: number) =>
    index < 0 || index >= agents
      ? null
      : {
          row: base64Encode(rowAt(rows, index)),
          row_index: index,
          inclusion_proof: (await proveInclusion(index, agents, tiles)).map(base64Encode),
        };
  const { index, isThere } = findRow(rows, tag);
  return isThere
    ? { statement, ...(await show(index)) }
    : { statement, left: await show(index - 1), right: await show(index) };
}

/** The tag of a record that has become shorter, or another one; null if all have only grown. */
function findShrunk(before: Uint8Array, now: Uint8Array): Uint8Array | null {
  for (let i = 0; i < countRows(before); i += 1) {
    const { tag, sequence, link } = decodeHeadRow(rowAt(before, i));
    const { index, isThere } = findRow(now, tag);
    const row = isThere ? decodeHeadRow(rowAt(now, index)) : null;
    const hasGrown =
      row !== null && (row.sequence > sequence || (row.sequence === sequence && bytesEqual(row.link, link)));
    if (!hasGrown) return tag;
  }
  return null;
}

/*
 * Roster of an organization, as an outsider follows it: every change is a statement of the service in the log
 * (lib/protocol/passkey/roster.ts), each names the one before, and the organization knows which it made.
 */

export interface SeenRoster {
  number: number;
  /** Hex. */
  hash: string;
}

export interface RosterWatch {
  organization: string;
  /** The newest as the organization itself knows it; undefined if it isn't told. */
  expected: string | undefined;
  before: SeenRoster | null;
}

interface Change extends SeenRoster {
  previous: string | null;
  changedAt: string;
}

/** Reads them in the order of the log; null for the place of one whose signature is not the service's. */
function readChanges(
  all: readonly ListedStatement[],
  organization: string,
  trust: VerifierTrust,
): (Change | null)[] {
  const pseudonym = rosterOrganization(organization);
  return all.flatMap((statement) => {
    const change = parseRosterStatement(statement.payload);
    if (change?.organization !== pseudonym) return [];
    if (findMaker(statement, trust) === undefined) return [null];
    const { number, previous, roster_hash: hash, changed_at: changedAt } = change;
    return [{ number, previous, hash, changedAt }];
  });
}

const findBreak = (changes: readonly (Change | null)[]): number =>
  changes.findIndex(
    (change, i) =>
      change === null || change.number !== i + 1 || change.previous !== (changes[i - 1]?.hash ?? null),
  );

const none: SeenRoster = { number: 0, hash: "" };

function checkRoster(
  all: readonly ListedStatement[],
  { organization, expected, before }: RosterWatch,
  trust: VerifierTrust,
): { outcome: Outcome; seen: SeenRoster } {
  const changes = readChanges(all, organization, trust);
  const broken = findBreak(changes);
  const last = changes.at(-1) ?? null;
  const seen = last === null ? none : { number: last.number, hash: last.hash };
  const outcome = (found: Outcome) => ({ outcome: found, seen });
  if (broken >= 0) return outcome(fail("roster_broken", { number: broken + 1 }));
  if (before !== null && (changes[before.number - 1]?.hash ?? "") !== before.hash)
    return outcome(fail("roster_broken", { number: before.number }));
  if (expected !== undefined && seen.hash !== expected)
    return outcome(fail("roster_unexpected", { number: seen.number, hash: seen.hash || "none" }));
  if (expected === undefined && before !== null && last !== null && last.number > before.number) {
    const { number, hash, changedAt } = last;
    const changed = { count: number - before.number, number, hash, at: readableTime(changedAt) };
    return outcome(fail("roster_changed", changed));
  }
  return outcome(
    pass(
      last === null
        ? "no roster yet"
        : `roster ${last.number} of ${readableTime(last.changedAt)}, ${last.hash}`,
    ),
  );
}

export interface MonitoredLog extends LogSource {
  /** Below the service's address, such as `/log`. */
  path: string;
}

export interface WitnessView {
  name: string;
  /** The checkpoint of the open log that it has cosigned last; undefined if it has none. */
  note: string | undefined;
}

export interface MonitorSource extends SumSource {
  readRows(path: string): Promise<Uint8Array>;
  /** Checkpoints that witnesses show at their monitoring paths (c2sp.org/tlog-witness). */
  readWitnesses(): Promise<WitnessView[]>;
  /** The log with this origin, or the one that is open now; undefined if the service names no such log. */
  readLog(origin?: string): Promise<MonitoredLog | undefined>;
}

export interface Monitored {
  checks: VerifierCheck[];
  remembered: Remembered | null;
  proof: JsonObject | null;
}

interface Run {
  source: MonitorSource;
  trust: VerifierTrust;
  before: Remembered | null;
  nowSeconds: number;
  checks: VerifierCheck[];
  proof: JsonObject | null;
}

function keepProof(run: Run, file: JsonObject): void {
  if (run.proof === null && checkMisbehaviour(file, run.trust).status === "pass") run.proof = file;
}

/** The open log, and the remembered one if a new one was begun since. Null if the open one cannot be relied on. */
async function checkLogs(run: Run): Promise<(OpenedLog & { path: string }) | null> {
  const { source, trust, before, checks } = run;
  // Read before the log, which then extends what they have seen.
  const witnesses = await source.readWitnesses();
  const open = await source.readLog();
  const opened = open && openLog(open, trust);
  const rememberedOrigin = before && readOrigin(before.checkpoint);
  const isSame = opened?.checkpoint.origin === rememberedOrigin;
  const old = before === null || isSame ? open : await source.readLog(rememberedOrigin ?? undefined);
  if (open === undefined || old === undefined || !opened) {
    checks.push({ name: "log", ...fail("checkpoint_malformed") });
    return null;
  }
  const found = await checkWholeLog(old, trust, { remembered: before?.checkpoint ?? null, isWhole: false });
  checks.push(...found.filter(({ name }) => name !== "entries"));
  const forked = holds(found) ? null : openLog(old, trust);
  if (before && forked) await keepFork(run, before.checkpoint, forked);
  for (const witness of witnesses) await checkWitness(run, opened, witness);
  return holds(checks) ? { ...opened, path: open.path } : null;
}

async function keepFork(run: Run, older: string, log: OpenedLog): Promise<void> {
  // Files that do not hold the tree prove nothing.
  const file = await proveFork(older, log, run.trust).catch(() => null);
  if (file !== null) keepProof(run, file);
}

/** Requires the checkpoint that the witness cosigned to be a prefix of the log shown here. */
async function checkWitness(run: Run, log: OpenedLog, { name, note }: WitnessView): Promise<void> {
  const found =
    note === undefined
      ? skip("witness_saw_nothing")
      : await checkConsistency(log.source, run.trust, log.checkpoint, note);
  run.checks.push({ name: `witness ${name}`, ...found });
  if (note !== undefined && found.status === "fail") await keepFork(run, note, log);
}

/** Checks the new ones, each by its leaf. The located ones of the open log are what evidence is made of. */
async function checkStatements(run: Run, log: OpenedLog, all: readonly ListedStatement[]): Promise<Outcome> {
  const from = run.before?.statements ?? 0;
  if (all.length < from) return fail("statement_not_logged", { number: from });
  const logs = new Map<string, OpenedLog | null>([[log.checkpoint.origin, log]]);
  for (const [i, statement] of all.entries()) {
    if (i < from) continue;
    const { logOrigin } = statement;
    if (!logs.has(logOrigin)) {
      const other = await run.source.readLog(logOrigin);
      logs.set(logOrigin, other ? openLog(other, run.trust) : null);
    }
    const own = logs.get(logOrigin);
    const located = own ? await locate(statement, own, run.trust) : null;
    if (located === null) return fail("statement_not_logged", { number: i + 1 });
  }
  const planted = all.slice(from).flatMap(({ payload }) => parsePlantedStatement(payload) ?? []);
  const count = (wanted: PlantedStatement["kind"]) => planted.filter(({ kind }) => kind === wanted).length;
  const said = [
    formatCount(count("schedule"), "schedule of planted requests", "schedules of planted requests"),
    formatCount(count("opening"), "opening"),
  ];
  const which = planted.length === 0 ? "" : `, among them ${said.join(" and ")}`;
  return pass(`${all.length - from} new ones, each in the log${which}`);
}

interface Newest extends RememberedSnapshot {
  heads: SignedHeads;
}

async function readNewest(
  run: Run,
  log: OpenedLog & { path: string },
  all: readonly ListedStatement[],
): Promise<Newest | Outcome> {
  const newest = all.findLast(
    ({ kind, logOrigin }) => kind === "agent_heads" && logOrigin === log.checkpoint.origin,
  );
  const named = newest && parseHeadsStatement(newest.payload);
  if (!newest || !named) return skip("snapshot_not_made");
  const statement = await locate(newest, log, run.trust);
  const signed = statement && checkHeadsStatement(readLoggedStatement(statement), run.trust);
  if (statement === null || !signed?.ok) return fail("snapshot_unsigned");
  const rows = await run.source.readRows(`${log.path}/agent-heads/${named.covers_size}`);
  return { statement, rows, heads: signed.heads };
}

async function checkGrowth(run: Run, now: Newest): Promise<Outcome> {
  const { before } = run;
  const last = before?.snapshot;
  if (!last) return skip("nothing_remembered");
  const tag = findShrunk(last.rows, now.rows);
  if (tag === null) return pass("no record has become shorter or another one");
  const [older, newer] = [await showRow(last, tag), await showRow(now, tag)];
  keepProof(run, { type: MISBEHAVIOUR_TYPE, kind: "counted_less", older, newer });
  return fail("snapshot_shrank");
}

/** The newest snapshot, its sum, and that every row has only grown since the one that was remembered. */
async function checkSnapshots(
  run: Run,
  log: OpenedLog & { path: string },
  all: readonly ListedStatement[],
): Promise<RememberedSnapshot | null> {
  const { checks, trust } = run;
  const newest = await readNewest(run, log, all);
  if ("status" in newest) {
    checks.push({ name: "snapshot", ...newest });
    if (newest.status !== "fail") checks.push({ name: "counted", ...skip("nothing_counted") });
    return null;
  }
  const { heads, rows, statement } = newest;
  checks.push({
    name: "snapshot",
    ...pass(`of ${readableTime(heads.at)}, at ${formatCount(heads.covers_size, "leaf", "leaves")}`),
  });
  const sum = checkSum(heads, rows, all, trust);
  checks.push({ name: "sum", ...sum }, { name: "counted", ...checkFresh(heads, run.nowSeconds) });
  if (sum.status === "fail")
    keepProof(run, { type: MISBEHAVIOUR_TYPE, kind: "wrong_sum", statement, rows: base64Encode(rows) });
  else checks.push({ name: "growth", ...(await checkGrowth(run, newest)) });
  return { statement, rows };
}

function watchRoster(
  { before, checks, trust }: Run,
  all: readonly ListedStatement[],
  watched: Pick<RosterWatch, "organization" | "expected"> | undefined,
): Record<string, SeenRoster> {
  const known = before?.rosters ?? {};
  if (watched === undefined) return known;
  const { organization } = watched;
  const last = Object.hasOwn(known, organization) ? (known[organization] ?? null) : null;
  const { outcome, seen } = checkRoster(all, { ...watched, before: last }, trust);
  checks.push({ name: "roster", ...outcome });
  return { ...known, [organization]: seen };
}

export async function monitorService(
  source: MonitorSource,
  trust: VerifierTrust,
  before: Remembered | null,
  nowSeconds: number,
  watched?: Pick<RosterWatch, "organization" | "expected">,
): Promise<Monitored> {
  const run: Run = { source, trust, before, nowSeconds, checks: [], proof: null };
  const log = await checkLogs(run);
  const end = () => ({ checks: run.checks, remembered: null, proof: run.proof });
  if (log === null) return end();
  const all = await readStatementList(source);
  if (!Array.isArray(all)) {
    run.checks.push({ name: "statements", ...failBy(all) });
    return end();
  }
  run.checks.push({ name: "statements", ...(await checkStatements(run, log, all)) });
  const rosters = watchRoster(run, all, watched);
  const snapshot = await checkSnapshots(run, log, all);
  const remembered: Remembered = {
    checkpoint: log.source.checkpoint,
    statements: all.length,
    snapshot: snapshot ?? before?.snapshot ?? null,
    rosters,
  };
  return { checks: run.checks, remembered: holds(run.checks) ? remembered : null, proof: run.proof };
}
