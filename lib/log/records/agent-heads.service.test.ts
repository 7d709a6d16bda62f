/** Snapshots of all records' heads: every leaf is counted, in all that the service shows of them. */
import { describe, expect, it } from "vitest";
import { rememberPeer } from "#lib/api/http/rate-limit";
import type { RecordResponse, RecordSnapshot, StatementsResponse } from "#lib/api/schemas/record";
import { base64Decode, utf8Encode } from "#lib/protocol/encoding/bytes";
import { addsUp, decodeHeadRow, mergeHeads, parseHeadsStatement } from "#lib/protocol/record/agent-heads";
import { dispatch } from "#lib/server/operations";
import { ask } from "#support/authorizations";
import { setupTestApp } from "#support/setup-app";
import { dropOldRows, makeSnapshot, readSinceSnapshot, SnapshotTaken } from "./agent-heads";
import { checkStoredSnapshots, snapshotIfDue } from "./record-snapshot";

const hourMs = 3_600_000;

describe("snapshots of records", () => {
  const { test, key } = setupTestApp();
  const attest = async (agent_slug: string, more: object = {}) => {
    const body = { agent_slug, action: "Paid", inputs_hash: "abc", ...more };
    const answer = await test.call("POST", "/v1/attest", { key, body });
    expect(answer.status).toBe(201);
    return answer.body;
  };
  const context = (laterMs = 0) => {
    const { context } = test.app;
    const clock = () => new Date(Date.now() + laterMs);
    return {
      ...context,
      clock,
      merge: async (...heads: Parameters<typeof mergeHeads>) => mergeHeads(...heads),
    };
  };
  const db = () => test.app.context.database.db;
  const statements = async (query = ""): Promise<StatementsResponse> =>
    (await test.call("GET", `/v1/log/statements${query}`)).body;
  const record = async (slug: string): Promise<RecordResponse> =>
    (await test.call("GET", `/v1/agent/${slug}/record`)).body;
  const fetchFile = async (path: string) => {
    test.use();
    const request = new Request(`http://localhost${path}`);
    rememberPeer(request, "127.0.0.1");
    return dispatch(request);
  };
  const readRows = async (url: string) => {
    const answer = await fetchFile(new URL(url).pathname);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("cache-control")).toContain("immutable");
    return new Uint8Array(await answer.arrayBuffer());
  };
  const headsOf = ({ statement }: RecordSnapshot) => {
    const heads = parseHeadsStatement(utf8Encode(statement.payload));
    if (heads === null) throw new Error("not a statement of heads");
    return heads;
  };

  it("is made every hour, so that its time says until when nothing was added", async () => {
    expect(await snapshotIfDue(context())).toBe(false);
    await attest("one-bot");
    await attest("one-bot", { is_public: false });
    await (await ask(test, key, { agent_slug: "two-bot" })).deny();
    expect((await record("one-bot")).snapshot).toBeUndefined();
    expect(await snapshotIfDue(context())).toBe(false);
    expect(await snapshotIfDue(context(hourMs))).toBe(true);
    expect(await readSinceSnapshot(db())).toMatchObject({ leaves: 0 });
    expect(await snapshotIfDue(context())).toBe(false);
    expect(await snapshotIfDue(context(hourMs))).toBe(true);
  });

  it("stays as it is while the record goes on, until the next one, which may be made of what has changed", async () => {
    await attest("one-bot");
    await attest("three-bot");
    expect((await record("one-bot")).snapshot).toMatchObject({ row_index: expect.any(Number) });
    expect((await record("three-bot")).snapshot).toBeUndefined();
    const { coversSize, agents } = await makeSnapshot(context(), 1);
    expect(agents).toBe(3);
    const { snapshot, head } = await record("three-bot");
    if (snapshot === undefined) throw new Error("no snapshot");
    expect(headsOf(snapshot)).toMatchObject({ covers_size: coversSize, agents: 3, entries: 5 });
    expect(addsUp(headsOf(snapshot))).toBe(true);
    expect(decodeHeadRow(base64Decode(snapshot.row)).sequence).toBe(head.sequence);
    expect(await checkStoredSnapshots(db())).toMatchObject({ snapshots: 3, problem: null });
  });

  it("is made once, if two processes begin at the same moment", async () => {
    await attest("one-bot");
    // Both have read before either signs.
    let reading = 2;
    let meet = (): void => undefined;
    const met = new Promise<void>((resolve) => {
      meet = resolve;
    });
    const merge = async (...heads: Parameters<typeof mergeHeads>) => {
      reading -= 1;
      if (reading === 0) meet();
      await met;
      return mergeHeads(...heads);
    };
    const begin = () => makeSnapshot({ ...context(), merge });
    const both = await Promise.allSettled([begin(), begin()]);
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const refused = both.find(({ status }) => status === "rejected") as PromiseRejectedResult;
    expect(refused.reason).toBeInstanceOf(SnapshotTaken);
  });

  it("is not signed if a record was changed behind its back, and the check names what does not fit", async () => {
    const { query } = test.app.context.database;
    await attest("two-bot");
    await query("UPDATE agent_records SET sequence = sequence + 1 WHERE agent_id = $1", [
      (await record("two-bot")).agent_id,
    ]);
    await expect(makeSnapshot(context())).rejects.toThrow("do not add up");
    await query("UPDATE agent_records SET sequence = sequence - 1 WHERE agent_id = $1", [
      (await record("two-bot")).agent_id,
    ]);
    await makeSnapshot(context());
    expect(await checkStoredSnapshots(db())).toMatchObject({ problem: null });
    await query("UPDATE agent_heads SET rows = set_byte(rows, 50, (get_byte(rows, 50) + 1) % 256)", []);
    expect((await checkStoredSnapshots(db())).problem).toContain("rows are not those of its statement");
  });

  it("drops the rows of old ones, and keeps their statements and the newest rows", async () => {
    const before = (await statements()).statements.length;
    await dropOldRows(db(), new Date(Date.now() + hourMs));
    expect((await statements()).statements).toHaveLength(before);
    const { snapshot } = await record("one-bot");
    if (snapshot === undefined) throw new Error("no snapshot");
    await readRows(snapshot.rows_url);
    const first = (await statements()).statements.find(({ kind }) => kind === "agent_heads");
    const { covers_size } = JSON.parse(first?.payload ?? "").predicate;
    expect((await fetchFile(`/log/agent-heads/${covers_size}`)).status).toBe(404);
    for (const size of ["0", "01", "x", String(covers_size + 1)])
      expect((await fetchFile(`/log/agent-heads/${size}`)).status).toBe(404);
  });
});
