/** The public log is what an outsider needs to check everything again, and nothing else is at its paths. */
import { beforeAll, describe, expect, it, vi } from "vitest";
import { base64Decode } from "#lib/protocol/encoding/bytes";
import { parseVerifierKey, verifyCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { decodeEntryBundle } from "#lib/protocol/tlog/log-leaf";
import { leafHash, verifyInclusion } from "#lib/protocol/tlog/merkle";
import { dispatch } from "#lib/server/operations";
import { anyKind } from "#support/databases";
import { type LogVisitor, type RememberedCheckpoint, visitLog } from "#support/log";
import { setupTestApp } from "#support/setup-app";

async function get(path: string) {
  const response = await dispatch(new Request(`http://localhost${path}`));
  return {
    status: response.status,
    headers: response.headers,
    bytes: new Uint8Array(await response.arrayBuffer()),
  };
}

describe("the public log", () => {
  const { test, key } = setupTestApp(anyKind, { LIMIT_ATTEST_PER_MINUTE: "100000" });
  let log: LogVisitor;
  const remembered: RememberedCheckpoint[] = [];
  const attest = (n: number) =>
    test.call("POST", "/v1/attest", {
      key,
      body: { agent_slug: "log-bot", action: `act ${n}`, inputs_hash: "x" },
    });

  beforeAll(async () => {
    const { body } = await test.call("GET", "/v1/pubkey");
    log = visitLog(get, "/log", parseVerifierKey(body.log.vkey));
  });

  it("holds after every operation, and every checkpoint is a prefix of the next", async () => {
    for (let n = 0; n < 12; n += 1) {
      const { status } = await attest(n);
      expect(status).toBe(201);
      const checked = await log.check();
      expect(checked).toMatchObject({ ok: true, size: 4 + n });
      remembered.push(await log.checkpoint());
    }
    expect(await log.areConsistent(remembered)).toBe(true);
  });

  it("describes its keys and its size once for each reading of the keys, and again for the next", async () => {
    const { keys } = test.app.context;
    const list = [...(await keys.published())];
    const published = vi.spyOn(keys, "published");
    const readSize = async (read: typeof list): Promise<number> => {
      published.mockResolvedValue(read);
      return (await test.call("GET", "/v1/pubkey")).body.logs[0].size;
    };
    try {
      const size = await readSize(list);
      expect((await attest(50)).status).toBe(201);
      expect(await readSize(list)).toBe(size);
      expect(await readSize([...list])).toBe(size + 1);
    } finally {
      published.mockRestore();
    }
  });

  it("proves in the answer itself that the leaf is in, under a checkpoint that the log's key signed", async () => {
    const { body } = await attest(100);
    const logKey = parseVerifierKey((await test.call("GET", "/v1/pubkey")).body.log.vkey);
    const verdict = verifyCheckpoint(body.log.checkpoint, logKey);
    if (!verdict.ok) throw new Error(verdict.problem);
    const { size, root } = verdict.checkpoint;
    expect(size).toBe(body.log.tree_size);
    const claim = {
      leafHash: leafHash(base64Decode(body.log.entry)),
      index: body.log.index,
      size,
      root,
      proof: body.log.inclusion_proof.map(base64Decode),
    };
    expect(verifyInclusion(claim)).toBe(true);
    expect(verifyInclusion({ ...claim, index: claim.index - 1 })).toBe(false);
    expect(await log.entry(body.log.index, size)).toBe(body.log.entry);
  });

  it("grows over the first full tile, and always serves earlier widths as prefixes", async () => {
    const answers = await Promise.all(Array.from({ length: 300 }, (_, n) => attest(1000 + n)));
    expect(new Set(answers.map(({ body }) => body.log.index)).size).toBe(300);
    const checked = await log.check();
    expect(checked.ok).toBe(true);
    expect(checked.size).toBeGreaterThan(300);
    remembered.push(await log.checkpoint());
    expect(await log.areConsistent(remembered)).toBe(true);
    const [full, early] = await Promise.all([get("/log/tile/0/000"), get("/log/tile/0/000.p/7")]);
    expect(full.bytes).toHaveLength(8192);
    expect(early.bytes).toEqual(full.bytes.slice(0, 7 * 32));
    const [bundle, earlyBundle] = await Promise.all([
      get("/log/tile/entries/000"),
      get("/log/tile/entries/000.p/7"),
    ]);
    expect(decodeEntryBundle(bundle.bytes)).toHaveLength(256);
    expect(bundle.bytes.slice(0, earlyBundle.bytes.length)).toEqual(earlyBundle.bytes);
    expect((await get("/log/tile/1/000.p/1")).bytes).toHaveLength(32);
  });

  it("sends the types and lifetimes of C2SP tlog-tiles", async () => {
    const checkpoint = await get("/log/checkpoint");
    expect(checkpoint.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(checkpoint.headers.get("cache-control")).toBe("public, max-age=2");
    for (const path of ["/log/tile/0/000", "/log/tile/entries/000"]) {
      const { headers, status } = await get(path);
      expect(status).toBe(200);
      expect(headers.get("content-type")).toBe("application/octet-stream");
      expect(headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
      expect(headers.get("access-control-allow-origin")).toBe("*");
    }
  });

  it.each([
    "/log/tile/0/000.p/0",
    "/log/tile/0/000.p/256",
    "/log/tile/0/000.p/07",
    "/log/tile/00/000",
    "/log/tile/0/0",
    "/log/tile/0/x000/000",
    "/log/tile/0/001",
    "/log/tile/0/x001/000",
    "/log/tile/1/000",
    "/log/tile/64/000",
    "/log/tile/entries/000.p/999",
    "/log/tile/",
    "/log/1/checkpoint",
    "/log/2/checkpoint",
    "/log/02/checkpoint",
    "/log/0/tile/0/000",
    "/log/leaves",
  ])("has nothing at %s, and nobody may remember that", async (path) => {
    const { status, headers } = await get(path);
    expect(status).toBe(404);
    expect(headers.get("cache-control") ?? "no-store").toBe("no-store");
  });

  it("refuses to change or remove leaves and checkpoints, whoever asks", async () => {
    for (const table of ["log_leaves", "log_checkpoints"]) {
      for (const statement of [
        `UPDATE ${table} SET log_id = 9`,
        `DELETE FROM ${table}`,
        `TRUNCATE ${table}`,
      ]) {
        await expect(test.query(statement, [])).rejects.toThrow(/append-only/);
      }
    }
  });
});
