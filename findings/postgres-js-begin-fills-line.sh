#!/bin/sh
# postgres 3.4.9 (npm, porsager/postgres), Node 20, with its default of 100 queries in line on a connection (max_pipeline): a
# BEGIN with exactly 100 queries before it is sent, its caller gets an error, and the connection goes on serving others inside
# of that transaction. What they write is answered as done, and gone when the connection closes. Behind 99 it begins as it
# should. Known upstream as #1189. The database is PGlite 0.5.14 behind pglite-socket 0.2.17.
# Output:  behind 99: begun, insert answered, kept 1   behind 100: refused, insert answered, kept 0
# Exits with 1 if that is no longer so.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel=error \
  @electric-sql/pglite@0.5.14 @electric-sql/pglite-socket@0.2.17 postgres@3.4.9 >/dev/null
cat > run.mjs <<'S'
import { PGlite } from "@electric-sql/pglite";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";
import postgres from "postgres";
process.on("uncaughtException", () => {});
const database = await PGlite.create();
await database.exec("CREATE TABLE kept (n int)");
const server = new PGLiteSocketServer({ db: database, port: 0, host: "127.0.0.1" });
await server.start();
const port = Number(server.getServerConn().split(":").at(-1));
async function tryBehind(count) {
  await database.exec("DELETE FROM kept");
  const sql = postgres({ host: "127.0.0.1", port, user: "postgres", database: "postgres", max: 1, fetch_types: false });
  await sql`SELECT 1`;
  const before = Array.from({ length: count }, () => sql`SELECT 1`.simple().execute());
  const begun = sql.begin((tx) => tx`SELECT 1`).then(() => "begun", () => "refused");
  await Promise.all(before);
  const state = await begun;
  const insert = await sql`INSERT INTO kept VALUES (1)`.then(() => "answered", (error) => error.message);
  await sql.end();
  const { rows } = await database.query("SELECT count(*)::int AS n FROM kept");
  return `${state}, insert ${insert}, kept ${rows[0].n}`;
}
console.log(`behind 99: ${await tryBehind(99)}   behind 100: ${await tryBehind(100)}`);
process.exit(0);
S
line=$(node run.mjs)
echo "$line"
[ "$line" = "behind 99: begun, insert answered, kept 1   behind 100: refused, insert answered, kept 0" ]
