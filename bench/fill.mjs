/** Makes what reads need, over HTTP as anyone would. */
import { httpRequest, runLoad } from "./load.mjs";

/** Creates `count` attestations (or Fastify's records) concurrently and returns their ids, the first `field` of each answer. */
async function makeMany({ port, key }, { path, field, count, bodyOf }) {
  const ids = [];
  const pattern = new RegExp(`"${field}":"([^"]+)"`);
  const { others } = await runLoad({
    port,
    connections: 128,
    count,
    next: (i) => httpRequest(port, "POST", path, { key, body: bodyOf(i) }),
    status: 201,
    // A copy: a part of a string keeps all of it in memory, and a million answers are gigabytes.
    take: (body) => ids.push(Buffer.from(pattern.exec(body.toString("latin1"))[1]).toString()),
  });
  if (ids.length !== count) throw new Error(`${path} answered ${JSON.stringify(others)}`);
  return ids;
}

export const readerSlug = "bench-reader";

export const commonInputs = "abc";

const bodyOf = (i) => ({
  agent_slug: readerSlug,
  action: "Read the report",
  inputs_hash: commonInputs,
  metadata: { i },
});

export const attestMany = (service, count, bodyOfEach = bodyOf) =>
  makeMany(service, { path: "/v1/attest", field: "attestation_id", count, bodyOf: bodyOfEach });

export const recordMany = (fastify, count) =>
  makeMany(fastify, { path: "/attest", field: "id", count, bodyOf });

export async function postJson(url, body, headers = {}) {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (answer.ok) return JSON.parse(text);
  throw Object.assign(new Error(`${url} answered ${answer.status}: ${text}`), { status: answer.status });
}

/** Asks for an approval. Gives the request's id and the approval page's address. */
export async function askForApproval({ baseUrl, key }, slug = readerSlug, action = "Pay") {
  const body = { agent_slug: slug, action, inputs_hash: "abc", expires_in_minutes: 60 };
  const answer = await postJson(`${baseUrl}/v1/authorize`, body, { authorization: `Bearer ${key}` });
  return { id: answer.request_id, link: `${baseUrl}${new URL(answer.approval_url).pathname}` };
}

export const pickFrom = (values) => values[Math.floor(Math.random() * values.length)];

/** A side that sends GET requests, to the same path or to what `pathOf` says each time. */
export function getSide({ port, key }, pathOf, { connections = 32, seconds, withKey = false }) {
  const request = (path) => httpRequest(port, "GET", path, withKey ? { key } : {});
  const same = typeof pathOf === "string" ? request(pathOf) : null;
  return () => runLoad({ port, connections, seconds, next: () => same ?? request(pathOf()), status: 200 });
}

/** A side that sends the same POST again and again, or what `body` makes each time. */
export function postSide({ port, key }, path, body, { connections, seconds }) {
  const request = (made) => httpRequest(port, "POST", path, { key, body: made });
  const same = typeof body === "function" ? null : request(body);
  return () => runLoad({ port, connections, seconds, next: () => same ?? request(body()), status: 201 });
}
