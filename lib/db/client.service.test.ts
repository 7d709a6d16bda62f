/** Several processes on one fresh PostgreSQL (here: several apps, which share nothing but the database and folder). */
import { rm } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { sql } from "drizzle-orm";
import { describe, expect, it } from "vitest";
import { isUnreachable } from "#lib/db/postgres/failures";
import { startTestApp } from "#support/app";
import { createTestDatabase, databaseKinds } from "#support/databases";
import { openDatabase } from "./embedded/embedded";

describe.skipIf(!databaseKinds.includes("postgres"))("PostgreSQL", () => {
  it("is migrated once when three start at once, and they make one set of keys", async () => {
    const database = await createTestDatabase({ empty: true });
    const shared = {
      DATABASE_URL: database.url,
      DATA_DIR: path.join(tmpdir(), `countersign-three-${process.pid}`),
    };
    const apps = await Promise.all(Array.from({ length: 3 }, () => startTestApp("postgres", shared)));
    try {
      const keys = new Set(apps.map(({ app }) => app.context.keys.signer.keyId));
      expect(keys.size).toBe(1);
      const secrets = new Set(apps.map(({ app }) => app.context.secrets.session));
      expect(secrets.size).toBe(1);
      const { rows } = await apps[0]!.app.context.database.query(
        "SELECT (SELECT count(*) FROM signing_keys) AS keys, (SELECT count(*) FROM logs) AS logs, (SELECT size FROM logs) AS size, (SELECT count(*) FROM log_leaves) AS leaves",
        [],
      );
      expect(rows.map((row) => Object.values(row).map(Number))).toEqual([[3, 1, 3, 3]]);
      await expect(startTestApp("postgres", { DATABASE_URL: database.url })).rejects.toThrow(
        /attestation key is missing/,
      );
    } finally {
      for (const app of apps) await app.close();
      await rm(shared.DATA_DIR, { recursive: true, force: true });
      await database.drop();
    }
  });

  it("rejects the next statement of a transaction whose connection has died, and lives on", async () => {
    const database = await createTestDatabase();
    const target = new URL(database.url);
    const sockets = new Set<Socket>();
    const front = createServer((near) => {
      const far = connect(Number(target.port), target.hostname);
      for (const socket of [near, far]) sockets.add(socket.on("error", () => {}));
      near.pipe(far).pipe(near);
    });
    await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
    const url = new URL(database.url);
    url.port = String((front.address() as AddressInfo).port);
    const { db, close } = await openDatabase({ databaseUrl: url.href, dataDir: "" });
    let next: Promise<unknown> = Promise.resolve("not sent");
    const dies = db.transaction(async (tx) => {
      await tx.execute(sql`SELECT 1`);
      for (const socket of sockets) socket.end();
      await new Promise((resolve) => setTimeout(resolve, 50));
      next = tx.execute(sql`SELECT 2`).then(
        () => "answered",
        (reason: unknown) => isUnreachable(reason),
      );
      await next;
    });
    await expect(dies).rejects.toSatisfy(isUnreachable);
    await new Promise((resolve) => setTimeout(resolve, 100));
    // Unpatched (.ci/patches), the driver throws beside this promise, and takes the process with it.
    expect(await next).toBe(true);
    await expect
      .poll(() =>
        db.execute(sql`SELECT 3`).then(
          () => "answers",
          () => "not yet",
        ),
      )
      .toBe("answers");
    await close();
    front.close();
    for (const socket of sockets) socket.destroy();
    await database.drop();
  });

  it("bounds every statement and idle transaction", async () => {
    const database = await createTestDatabase();
    const { query, close } = await openDatabase({ databaseUrl: database.url, dataDir: "" });
    const { rows } = await query(
      "SELECT current_setting('statement_timeout') AS s, current_setting('idle_in_transaction_session_timeout') AS i, current_setting('application_name') AS a",
      [],
    );
    await close();
    await database.drop();
    expect(rows).toEqual([{ s: "15s", i: "30s", a: "countersign" }]);
  });

  it("that does not answer stops the start with the variable's name", async () => {
    await expect(
      openDatabase({ databaseUrl: "postgres://x:secret@127.0.0.1:1/x", dataDir: "" }),
    ).rejects.toThrow(/^Countersign cannot start: .*DATABASE_URL(?!.*secret)/);
  });
});
