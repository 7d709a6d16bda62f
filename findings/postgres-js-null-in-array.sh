#!/bin/sh
# postgres 3.4.9 (npm, porsager/postgres) beside pg 8.23.1 (npm), Node 20, on one database: a NULL in an array is read as a value
# of the array's type. In boolean[] it is false, in int[] NaN, in timestamptz[] an Invalid Date, in text[], uuid[] and numeric[] the
# text "NULL", like the text that an array may really have. array_agg over a column or an outer join makes such arrays. An array
# whose indexes don't begin at 1, such as a slice keeps, comes as a list in a list. A time of the year 1, which is Go's zero
# time, comes as 2001. pg reads all of them right, and so does PGlite 0.5.14, but for the last. Of these, text[] is known upstream as
# #1124, the year as #1185. The database is PGlite behind pglite-socket 0.2.17.
# Output:  pg: bool true,null   int 1,null   text "a",null,"NULL"   from 0: [1,2]   year: 1
#          postgres: bool true,false   int 1,NaN   text "a","NULL","NULL"   from 0: [[1,2]]   year: 2001
#          PGlite: bool true,null   int 1,null   text "a",null,"NULL"   from 0: [1,2]   year: 2001
# Exits with 1 if that is no longer so.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel=error \
  postgres@3.4.9 pg@8.23.1 @electric-sql/pglite@0.5.14 @electric-sql/pglite-socket@0.2.17 >/dev/null
cat > read.mjs <<'S'
import { PGlite } from "@electric-sql/pglite";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";
import pg from "pg";
import postgres from "postgres";
const db = await PGlite.create();
const server = new PGLiteSocketServer({ db, host: "127.0.0.1", port: 0 });
await server.start();
const [host, port] = server.getServerConn().split(":");
const at = { host, port: Number(port), user: "postgres", database: "postgres" };
const text = `SELECT ARRAY[true, NULL] AS bool, ARRAY[1, NULL] AS int, ARRAY['a', NULL, 'NULL'] AS text,
  '[0:1]={1,2}'::int[] AS from_zero, '0001-01-01 00:00:00+00'::timestamptz AS year`;
const name = (value) => (typeof value === "string" ? JSON.stringify(value) : String(value));
const show = (driver, { bool, int, text, from_zero: from, year }) =>
  console.log(
    `${driver}: bool ${bool.map(name)}   int ${int.map(name)}   text ${text.map(name)}   ` +
      `from 0: ${JSON.stringify(from)}   year: ${year.getUTCFullYear()}`,
  );
const client = new pg.Client(at);
await client.connect();
show("pg", (await client.query(text)).rows[0]);
await client.end();
const sql = postgres({ ...at, max: 1 });
show("postgres", (await sql.unsafe(text))[0]);
await sql.end();
show("PGlite", (await db.query(text)).rows[0]);
await server.stop();
await db.close();
S
node read.mjs | tee out
cat > expected <<'S'
pg: bool true,null   int 1,null   text "a",null,"NULL"   from 0: [1,2]   year: 1
postgres: bool true,false   int 1,NaN   text "a","NULL","NULL"   from 0: [[1,2]]   year: 2001
PGlite: bool true,null   int 1,null   text "a",null,"NULL"   from 0: [1,2]   year: 2001
S
cmp out expected
