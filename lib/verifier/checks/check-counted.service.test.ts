/** A service that lies about its snapshots or their sum: each way is caught, and named. */
import path from "node:path";
import { beforeAll, describe, expect, it, vi } from "vitest";
import type { LoggedStatement, RecordResponse, RecordSnapshot } from "#lib/api/schemas/record";
import { beginEpoch } from "#lib/log/keys/new-epoch";
import { makeSnapshot } from "#lib/log/records/agent-heads";
import { openForkGuard } from "#lib/log/sequencer/fork-guard";
import { base64Decode, base64Encode, hexDecode, hexEncode } from "#lib/protocol/encoding/bytes";
import {
  buildHeadsStatement,
  buildHeadsTree,
  HEAD_ROW_BYTES,
  mergeHeads,
} from "#lib/protocol/record/agent-heads";
import { emptyRecord, extendRecord } from "#lib/protocol/record/agent-record";
import { signStatement } from "#lib/protocol/tlog/log-leaf";
import { setupTestApp } from "#support/setup-app";
import { checkRecord } from "./check-record";
import { checkSum, type ListedStatement, readStatementList, type SignedHeads } from "./check-sum";
import { parseTrust, type VerifierTrust } from "./trust";

const slug = "counted-bot";

interface Lies {
  page?: (record: RecordResponse & { snapshot: RecordSnapshot }) => object;
  rows?: (rows: Uint8Array) => Uint8Array;
  statements?: (statements: LoggedStatement[]) => LoggedStatement[];
  /** Fields to add to the page of statements that begins at this number. */
  pages?: (from: number) => object;
  sumUpTo?: number;
  trust?: (trust: VerifierTrust) => VerifierTrust;
  /** Than now, by the outsider's clock. */
  laterSeconds?: number;
}

describe("the count of a record in a snapshot, as an outsider checks it", () => {
  const { test, key } = setupTestApp();
  const attest = (more: object = {}) =>
    test.call("POST", "/v1/attest", {
      key,
      body: { agent_slug: slug, action: "Paid", inputs_hash: "abc", ...more },
    });
  const read = async (path: string) => (await test.call("GET", path)).body;
  const makeOne = () =>
    makeSnapshot({ ...test.app.context, merge: async (...heads) => mergeHeads(...heads) }, 1);
  const readRows = async (path: string) => {
    const { rows } = (
      await test.query("SELECT rows FROM agent_heads WHERE covers_size = $1", [
        Number(path.split("/").at(-1)),
      ])
    ).rows[0] as { rows: Uint8Array };
    return new Uint8Array(rows);
  };
  const renumber = (statements: LoggedStatement[]) =>
    statements.map((statement, i) => ({ ...statement, number: i + 1 }));

  const check = async ({
    page,
    rows,
    statements,
    pages,
    sumUpTo = 1000,
    trust = (one) => one,
    laterSeconds = 0,
  }: Lies = {}) =>
    checkRecord(
      {
        readPage: async () => {
          const record = await read(`/v1/agent/${slug}/record`);
          return page?.(structuredClone(record)) ?? record;
        },
        readAnswer: async (id) => JSON.stringify(await read(`/v1/verify/${id}`)),
        readRows: async (path) => rows?.(await readRows(path)) ?? readRows(path),
        readStatements: async (from) => {
          const list = await read(`/v1/log/statements?from=${from}`);
          return { ...list, statements: statements?.(list.statements) ?? list.statements, ...pages?.(from) };
        },
      },
      trust(parseTrust(await read("/v1/pubkey"))),
      { sumUpTo, nowSeconds: Date.now() / 1_000 + laterSeconds },
    );
  const found = async (lies: Lies) =>
    (await check(lies)).checks
      .filter(({ name, status }) => status !== "pass" && name !== "receipts" && name !== "counted")
      .map(({ name, status, reason }) => `${name}: ${status} ${reason}`);
  const broken = (name: string, reason: string, ...after: string[]) => [
    `${name}: fail ${reason}`,
    ...after.map((one) => `${one}: not_run earlier_check_failed`),
  ];
  const inSnapshot = (change: (snapshot: RecordSnapshot) => object): Lies => ({
    page: ({ snapshot, ...record }) => ({ ...record, snapshot: { ...snapshot, ...change(snapshot) } }),
  });
  const flip = (base64: string, at: number) => {
    const bytes = base64Decode(base64);
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    return base64Encode(bytes);
  };
  /** The head over the first entries, as a liar who cuts the rest would show it. */
  const cutTo =
    (count: number): NonNullable<Lies["page"]> =>
    (record) => {
      const entries = record.entries.slice(0, count);
      let head = emptyRecord(record.agent_id);
      for (const { payload_hash } of entries) head = extendRecord(head, hexDecode(payload_hash));
      return {
        ...record,
        entries,
        head: { sequence: head.sequence, link: hexEncode(head.link) },
        next: null,
      };
    };

  beforeAll(async () => {
    await attest();
    await attest({ agent_slug: "other-bot" });
    expect(await found({})).toEqual([
      "snapshot: not_applicable snapshot_not_made",
      "sum: not_applicable snapshot_not_made",
    ]);
    await attest({ is_public: false });
    await makeOne();
    await attest();
  });

  it("holds: the row is where the entries lead, and every leaf is counted", async () => {
    const report = await check();
    expect(report).toMatchObject({ verdict: "incomplete", snapshot: { agents: 2, counted: 2 } });
    const { checks } = report;
    expect(checks.find(({ name }) => name === "sum")?.detail).toContain("3 in 2 records");
    expect(await found({ sumUpTo: 1 })).toEqual(["sum: not_applicable sum_not_run"]);
  });

  it("counts statements of a key that was revoked since, of the service's keys alone", async () => {
    const size = (await check()).snapshot?.coversSize ?? 0;
    const revoked = (trust: VerifierTrust) => ({
      ...trust,
      keys: trust.keys.map((one) => ({ ...one, validFromIndex: size })),
    });
    expect(await found({ trust: revoked })).toEqual([]);
    const forge = ([first, ...others]: LoggedStatement[]) =>
      [{ ...first, signature: flip(first?.signature ?? "", 5) }, ...others] as LoggedStatement[];
    expect(await found({ trust: revoked, statements: forge })).toEqual(
      broken("sum", "sum_statement_invalid"),
    );
  });

  it("finds a tail that was cut with its head, by the snapshot or by its absence", async () => {
    expect(await found({ page: cutTo(1) })).toEqual(broken("snapshot", "snapshot_mismatch", "sum"));
    const silent: Lies["page"] = (record) => ({ ...cutTo(1)(record), snapshot: undefined });
    expect(await found({ page: silent })).toEqual(broken("snapshot", "snapshot_count_mismatch", "sum"));
  });

  /** Outcome of `counted` for a service that lies in this way. */
  const end = async (lies: Lies) => {
    const { verdict, checks } = await check(lies);
    const { status, reason, detail } = checks.find(({ name }) => name === "counted") ?? {};
    return { verdict, status, reason, detail };
  };
  const open = (reason: string) => ({ verdict: "incomplete", status: "not_applicable", reason });
  const untilCount = (all: LoggedStatement[]) =>
    all.slice(
      0,
      all.findIndex(({ kind }) => kind === "agent_heads"),
    );

  it("never says that the record ends where no signed count of now says so", async () => {
    const silent: Lies["page"] = (record) => ({ ...cutTo(1)(record), snapshot: undefined });
    expect(await end({ page: silent, statements: untilCount })).toMatchObject(open("record_not_counted"));
    const empty: Lies["page"] = (record) => ({ ...cutTo(0)(record), snapshot: undefined });
    expect(await end({ page: empty, statements: untilCount })).toMatchObject(open("record_not_counted"));
    const tail = await end({});
    expect(tail).toMatchObject(open("record_tail_not_counted"));
    expect(tail.detail).toContain("counted to number 2 of 3");
    const counted: Lies = { page: cutTo(2) };
    expect(await end(counted)).toMatchObject({ verdict: "valid", status: "pass" });
    expect(await end({ ...counted, laterSeconds: 7_100 })).toMatchObject({ verdict: "valid" });
    for (const laterSeconds of [7_300, -400])
      expect(await end({ ...counted, laterSeconds })).toMatchObject(open("count_not_fresh"));
  });

  it("finds a snapshot that is hidden under another name, or at whose place the list ends", async () => {
    const silent: Lies["page"] = (record) => ({ ...cutTo(1)(record), snapshot: undefined });
    const renamed = (all: LoggedStatement[]) => all.map((one) => ({ ...one, kind: "key_event" as const }));
    expect(await found({ page: silent, statements: renamed })).toEqual(
      broken("snapshot", "snapshot_count_mismatch", "sum"),
    );
    expect(await found({ statements: untilCount })).toEqual(broken("sum", "sum_list_cut"));
  });

  it("finds pages of statements that never end", async () => {
    const some = (all: LoggedStatement[]) => all.slice(0, 1);
    const lies: Lies[] = [
      { statements: () => [], pages: (from) => ({ next: from }) },
      { statements: () => [], pages: (from) => ({ next: from + 1 }) },
      { statements: some, pages: () => ({ next: 1 }) },
      { statements: some, pages: (from) => ({ next: from + 5 }) },
    ];
    for (const lie of lies) expect(await found(lie)).toEqual(broken("sum", "page_unending"));
    const [first] = (await read("/v1/log/statements")).statements;
    // The same again and again: soon more than there are leaves.
    const renumbered: Lies = {
      pages: (from) => ({ statements: [{ ...first, number: from }], next: from + 1 }),
    };
    expect(await found(renumbered)).toEqual(broken("sum", "page_unending"));
  });

  it("finds an entry that is said to be on the other side of the snapshot", async () => {
    const moved: Lies["page"] = (record) => ({
      ...record,
      entries: record.entries.map((entry) =>
        entry.sequence === 2 ? { ...entry, log_index: (record.entries[2]?.log_index ?? 0) - 1 } : entry,
      ),
    });
    expect(await found({ page: moved })).toEqual(broken("snapshot", "snapshot_count_mismatch", "sum"));
  });

  it("finds a row that was rewritten, of another agent, or whose statement is not the signed one", async () => {
    const other = (await read("/v1/agent/other-bot/record")).snapshot;
    for (const [change, reason] of [
      [({ row }) => ({ row: flip(row, 39) }), "snapshot_proof_invalid"],
      [({ row }) => ({ row: flip(row, 71) }), "snapshot_proof_invalid"],
      [({ row_index }) => ({ row_index: 1 - row_index }), "snapshot_proof_invalid"],
      [({ row }) => ({ row: flip(row, 0) }), "snapshot_malformed"],
      [() => ({ row: base64Encode(new Uint8Array(71)) }), "snapshot_malformed"],
      [() => other, "snapshot_malformed"],
      [
        ({ statement }) => ({
          statement: { ...statement, payload: statement.payload.replace("agent-heads/v1", "key-event/v1") },
        }),
        "snapshot_malformed",
      ],
      [
        ({ statement }) => ({
          statement: { ...statement, payload: statement.payload.replace('"entries":3', '"entries":2') },
        }),
        "snapshot_unsigned",
      ],
      [
        ({ statement }) => ({ statement: { ...statement, signature: flip(statement.signature, 0) } }),
        "snapshot_unsigned",
      ],
      [
        ({ statement }) => ({
          statement: { ...statement, log: { ...statement.log, index: statement.log.index - 1 } },
        }),
        "snapshot_unsigned",
      ],
    ] as [(snapshot: RecordSnapshot) => object, string][]) {
      const { page } = inSnapshot(change);
      // Each leads nowhere, or to another head, before anything is counted.
      const [first] = await found({ page: page as NonNullable<Lies["page"]> });
      expect([change.toString(), first]).toEqual([change.toString(), `snapshot: fail ${reason}`]);
    }
  });

  it("finds rows that are not the signed ones", async () => {
    const changed = (rows: Uint8Array) => rows.map((byte, i) => (i === 39 ? byte + 1 : byte));
    expect(await found({ rows: changed })).toEqual(broken("sum", "sum_rows_mismatch"));
    expect(await found({ rows: (rows) => rows.slice(HEAD_ROW_BYTES) })).toEqual(
      broken("sum", "sum_rows_mismatch"),
    );
    expect(await found({ rows: (rows) => rows.slice(1) })).toEqual(broken("sum", "sum_rows_mismatch"));
  });

  it("finds a list of statements with one left out, there twice, or made up", async () => {
    expect(await found({ statements: (all) => renumber(all.slice(1)) })).toEqual(
      broken("sum", "sum_mismatch"),
    );
    const twice = (all: LoggedStatement[]) => renumber([...all.slice(0, 1), ...all]);
    expect(await found({ statements: twice })).toEqual(broken("sum", "sum_statement_invalid"));
    const moved = (all: LoggedStatement[]) => [
      { ...(all[0] as LoggedStatement), payload: "{}" },
      ...all.slice(1),
    ];
    expect(await found({ statements: moved })).toEqual(broken("sum", "sum_statement_invalid"));
    expect(await found({ statements: (all) => all.slice(1) })).toEqual(broken("sum", "page_unending"));
  });

  it("finds a snapshot that was signed and counts a leaf too few: one that is in no record", async () => {
    const { snapshot } = (await read(`/v1/agent/${slug}/record`)) as { snapshot: RecordSnapshot };
    const rows = await readRows(snapshot.rows_url);
    const { predicate } = JSON.parse(snapshot.statement.payload);
    const trust = parseTrust(await read("/v1/pubkey"));
    const source = { readStatements: async (from: number) => read(`/v1/log/statements?from=${from}`) };
    const all = (await readStatementList(source)) as ListedStatement[];
    const listed = (json: LoggedStatement) =>
      readStatementList({
        readStatements: async () => ({ statements: [{ ...json, number: 1 }], next: null }),
      }) as Promise<ListedStatement[]>;
    const sum = (covers_size: number, more: ListedStatement[] = []) => {
      const payload = buildHeadsStatement(buildHeadsTree(rows), { ...predicate, covers_size });
      const sealed = signStatement(test.app.context.keys.signer, payload);
      const digestHex = JSON.parse(snapshot.statement.payload).subject[0].digest.sha256;
      const statements = predicate.statements + more.length;
      const heads: SignedHeads = { ...predicate, covers_size, statements, digestHex };
      const own = {
        ...sealed,
        keyId: predicate.signed_by,
        kind: "agent_heads",
        logOrigin: predicate.log_origin,
        logIndex: covers_size,
      };
      const others = all.filter((one) => one.kind !== "agent_heads");
      return checkSum(heads, rows, [...others, ...more, own], trust);
    };
    const { covers_size: size } = predicate;
    expect(sum(size).status).toBe("pass");
    expect(sum(size + 1)).toMatchObject({ status: "fail", reason: "sum_mismatch" });
    // In its place stands what is counted already: a statement once more, or an entry of a record.
    const [repeated] = all as [ListedStatement];
    const { body } = await attest({ agent_slug: "other-bot" });
    const place = { log_origin: predicate.log_origin, log_index: size };
    const [entry] = await listed({ ...body, ...place } as LoggedStatement);
    for (const stand of [{ ...repeated, logIndex: size }, entry as ListedStatement])
      expect(sum(size + 1, [stand])).toMatchObject({ status: "fail", reason: "sum_statement_invalid" });
  });

  it("holds over a new log, whose first leaf says how many the old one had", async () => {
    const { context } = test.app;
    const { signer, logSigner } = context.keys;
    const firstOrigin = (await read("/v1/pubkey")).log.origin;
    // Uses a guard of its own, like the operator's command.
    const guard = await openForkGuard(path.join(test.dataDir, "command"), {
      durable: false,
      now: new Date(),
    });
    await beginEpoch({ ...context, guard, firstOrigin }, { signer, logSigner });
    guard.close();
    const later = await attest();
    expect([later.status, later.body.log?.origin]).toEqual([201, `${firstOrigin}/2`]);
    // Published keys are read again every second.
    await vi.waitFor(async () => expect((await read("/v1/pubkey")).keys).toHaveLength(2), {
      timeout: 60_000,
    });
    expect(await found({})).toEqual([]);
    await makeOne();
    const report = await check();
    expect(report).toMatchObject({ verdict: "valid", snapshot: { counted: 4 } });
    expect(report.checks.find(({ name }) => name === "sum")).toMatchObject({ status: "pass" });
    expect(await found({ page: cutTo(3) })).toEqual(broken("snapshot", "snapshot_mismatch", "sum"));
  });
});
