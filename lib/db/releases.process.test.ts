/**
 * The databases that every release left behind (e2e/releases/<version>/, made by .ci/make-release.mjs): this version
 * upgrades them, what was signed in them still verifies, and their log and records go on.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { gunzipSync } from "node:zlib";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkStoredLogs } from "#lib/log/reading/history";
import { startTestApp, type TestApp } from "#support/app";
import { createTestDatabase, type DatabaseKind, databaseKinds } from "#support/databases";

interface Left {
  apiKey: string;
  settings: Record<string, string>;
  /** Keyed by id, in base64. */
  signatures: Record<string, string>;
}

const folder = path.resolve("e2e/releases");
const releases = readdirSync(folder);

it("there is a release to upgrade from", () => {
  expect(releases).toContain("1.0.0");
});

/** The settings under which the service finds the restored database, and what removes it. */
async function restore(release: string, kind: DatabaseKind) {
  const from = (name: string) => path.join(folder, release, name);
  const dataDir = mkdtempSync(path.join(tmpdir(), "countersign-release-"));
  const removeFolder = () => rmSync(dataDir, { recursive: true, force: true });
  if (kind === "embedded") {
    execFileSync("tar", ["-C", dataDir, "-xzf", from("embedded.tar.gz")]);
    return { database: { DATA_DIR: dataDir }, remove: async () => removeFolder() };
  }
  const { url, drop } = await createTestDatabase({ empty: true });
  const admin = postgres(url, { max: 1, onnotice: () => {} });
  await admin.unsafe(gunzipSync(readFileSync(from("postgres.sql.gz"))).toString());
  await admin.end();
  const remove = async () => {
    removeFolder();
    await drop();
  };
  return { database: { DATA_DIR: dataDir, DATABASE_URL: url }, remove };
}

describe.each(releases)("the databases of %s", (release) => {
  const leftBy = JSON.parse(readFileSync(path.join(folder, release, "release.json"), "utf8"));

  describe.each(databaseKinds)("upgraded (%s)", (kind) => {
    const { apiKey: key, settings, signatures } = leftBy[kind] as Left;
    let test: TestApp;
    let remove: () => Promise<void>;
    const checkLog = async () => {
      const [log] = await checkStoredLogs(test.app.context.database.db, null);
      expect(log?.check).toMatchObject({ ok: true });
    };
    beforeAll(async () => {
      const restored = await restore(release, kind);
      remove = restored.remove;
      test = await startTestApp(kind, { ...settings, ...restored.database });
    });
    afterAll(async () => {
      await test.close();
      await remove();
    });

    it("hold a log that is whole", checkLog);

    it("hold attestations that verify with the signatures they had", async () => {
      expect(Object.keys(signatures).length).toBeGreaterThanOrEqual(6);
      for (const [id, signature] of Object.entries(signatures)) {
        const { status, body } = await test.call("GET", `/v1/verify/${id}`, { key });
        expect([id, status, body.signature]).toEqual([id, 200, signature.replaceAll("\n", "")]);
        expect([id, body.valid]).toEqual([id, body.status === "erased" ? null : true]);
      }
    });

    it("take new attestations, which continue the record", async () => {
      const [before] = (
        await test.query(
          "SELECT sequence FROM agent_records JOIN agents ON agents.id = agent_id WHERE slug_key = 'invoice-bot'",
          [],
        )
      ).rows;
      const made = await test.call("POST", "/v1/attest", {
        key,
        body: { agent_slug: "invoice-bot", action: "Sent invoice 2026-116", inputs_hash: "sha256:abe" },
      });
      expect([made.status, made.body.record?.sequence]).toEqual([201, Number(before?.["sequence"]) + 1]);
      const { body } = await test.call("GET", `/v1/verify/${made.body.attestation_id}`, {});
      expect(body.valid).toBe(true);
      await checkLog();
    });
  });
});

const onPostgres = it.skipIf(!databaseKinds.includes("postgres"));
onPostgres("what 1.0.0 left in standing approvals and erased requests is mended", async () => {
  const { database, remove } = await restore("1.0.0", "postgres");
  const admin = postgres(database.DATABASE_URL ?? "", { max: 1 });
  const { settings } = JSON.parse(readFileSync(path.join(folder, "1.0.0", "release.json"), "utf8")).postgres;
  const amount = { currency: "EUR", value: "47.3047" };
  const [granted] = await admin`
    UPDATE authorization_requests AS r SET usable_until = g.expires_at - interval '1 second' FROM grants AS g
    WHERE g.request_id = r.id RETURNING r.id, usable_until`;
  const use = JSON.stringify({ kind: "grant", request_id: granted?.["id"], use: 1, spent: amount.value });
  const erased = await admin`
    UPDATE authorization_requests SET context_salt = NULL, fingerprint = request_hash, decided_by = ${use},
      callback_url = 'https://example.com/callback',
      request = convert_to((convert_from(request, 'UTF8')::jsonb || ${admin.json({ tool: "pay", amount })})::text, 'UTF8')
    WHERE id = (SELECT min(id) FROM authorization_requests WHERE id <> ${granted?.["id"]}) RETURNING id`;
  const kept = await admin`SELECT id, request, decided_by FROM authorization_requests
    WHERE fingerprint <> request_hash ORDER BY id`;
  expect(kept.length).toBeGreaterThan(0);
  const test = await startTestApp("postgres", { ...settings, ...database });
  try {
    const [grant] = await admin`SELECT expires_at FROM grants WHERE request_id = ${granted?.["id"]}`;
    expect(grant?.["expires_at"]).toEqual(granted?.["usable_until"]);
    const [request] =
      await admin`SELECT convert_from(request, 'UTF8')::jsonb AS asked, decided_by, callback_url
      FROM authorization_requests WHERE id = ${erased[0]?.["id"]}`;
    expect(request?.["asked"]).toMatchObject({ request_id: erased[0]?.["id"] });
    expect(request?.["asked"]).not.toHaveProperty("tool");
    expect(request?.["asked"]).not.toHaveProperty("amount");
    expect(request?.["callback_url"]).toBeNull();
    expect(JSON.parse(request?.["decided_by"])).toMatchObject({ kind: "grant", use: 1, spent: null });
    expect(
      await admin`SELECT id, request, decided_by FROM authorization_requests
        WHERE fingerprint <> request_hash ORDER BY id`,
    ).toEqual(kept);
  } finally {
    await test.close();
    await admin.end();
    await remove();
  }
});
