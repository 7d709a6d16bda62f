/**
 * Times the most frequent reads, each against one row by key behind Fastify: a verification from the stored bytes (one
 * id again and again; ids at random), a feed of twenty, an authorization, the public keys.
 */
import { askForApproval, attestMany, getSide, pickFrom, readerSlug, recordMany } from "./fill.mjs";
import { measureOpenssl } from "./openssl.mjs";
import { printRatio, printSides, takeTurns } from "./rounds.mjs";
import { withCpu } from "./usage.mjs";

export const name = "reads";

export async function run(servers, { seconds, sizes }) {
  const [, count] = sizes;
  const service = await servers.service();
  const fastify = await servers.fastify();
  const ids = await attestMany(service, count);
  const rows = await recordMany(fastify, count);
  const { id: requestId } = await askForApproval(service);

  const ours = (path, options) => withCpu(getSide(service, path, { seconds, ...options }), service.meter);
  const theirs = (path) => withCpu(getSide(fastify, path, { seconds }), fastify.meter);
  const verifyOne = "verify, one id again and again";
  const random = `${count} ids at random`;
  const oneRow = "Fastify, one row";
  const sides = await takeTurns({
    [oneRow]: theirs(`/record/${rows[0]}`),
    [verifyOne]: ours(`/v1/verify/${ids[0]}`),
    "feed, twenty entries": ours(`/v1/agent/${readerSlug}`),
    authorization: ours(`/v1/authorize/${requestId}`),
    "authorization, by its owner": ours(`/v1/authorize/${requestId}`, { withKey: true }),
    pubkey: ours("/v1/pubkey"),
  });
  const cold = await takeTurns({
    [`Fastify, ${random}`]: theirs(() => `/record/${pickFrom(rows)}`),
    [`verify, ${random}`]: ours(() => `/v1/verify/${pickFrom(ids)}`),
  });
  printSides("Reads, 32 clients", { ...sides, ...cold });
  const [first, ...others] = Object.entries(sides);
  for (const [what, { perSecond }] of others)
    printRatio(`${what}, against Fastify`, perSecond / first[1].perSecond);
  const [coldRow, coldVerify] = Object.values(cold);
  printRatio(`verify, ${random}, against Fastify`, coldVerify.perSecond / coldRow.perSecond);
  const { verifyPerSecond } = await measureOpenssl();
  printRatio(`${verifyOne}, against openssl's verifications`, sides[verifyOne].perSecond / verifyPerSecond);
}
