/** The yardstick: one Ed25519 signature and one INSERT (or one row read) behind Fastify, on the same kind of database. */
import { generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { PGlite } from "@electric-sql/pglite";
import fastify from "fastify";
import postgres from "postgres";
import { createRecords } from "./records.mjs";

const [port, dataDir] = process.argv.slice(2);
const databaseUrl = process.env.DATABASE_URL;

async function openDatabase() {
  if (databaseUrl === undefined) {
    const client = await PGlite.create({ dataDir });
    return async (text, values) => (await client.query(text, values)).rows;
  }
  const client = postgres(databaseUrl, { max: 10, onnotice: () => {} });
  return (text, values) => client.unsafe(text, values, { prepare: true });
}

const query = await openDatabase();
await query(createRecords, []);
const { privateKey } = generateKeyPairSync("ed25519");
const app = fastify();

app.post("/attest", async (request, reply) => {
  const id = randomUUID();
  const at = new Date();
  const payload = Buffer.from(JSON.stringify({ id, at, ...request.body }));
  const signature = sign(null, payload, privateKey);
  await query("INSERT INTO records (id, payload, signature, created_at) VALUES ($1, $2, $3, $4)", [
    id,
    payload,
    signature,
    at,
  ]);
  return reply.code(201).send({ id, payload: payload.toString(), signature: signature.toString("base64") });
});

app.get("/record/:id", async (request, reply) => {
  const [row] = await query("SELECT payload, signature FROM records WHERE id = $1", [request.params.id]);
  if (!row) return reply.code(404).send({});
  return {
    payload: Buffer.from(row.payload).toString(),
    signature: Buffer.from(row.signature).toString("base64"),
  };
});

await app.listen({ port: Number(port), host: "127.0.0.1" });
