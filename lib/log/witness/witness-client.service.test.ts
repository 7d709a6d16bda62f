/** Answers of a witness: a refused proof, none, or one without end, of which the service reads only so much. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { makeVerifierKey } from "#lib/protocol/tlog/checkpoint";
import { addCheckpoint } from "./witnesses";

const strange = makeVerifierKey("witness.test/strange", 4, new Uint8Array(32));
const request = { oldSize: 0, proof: [], checkpoint: "localhost/log\n1\nAA==\n\n" };

const toWitness = (server: Server) => ({
  name: strange.name,
  keys: [strange],
  url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
});

/** Answers each request with this status. */
async function startAnswering(status: number): Promise<Server> {
  const server = createServer((_incoming, outgoing) => outgoing.writeHead(status).end());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return server;
}

it.each([403, 404])("a witness that doesn't know the log (%d) is given its key", async (status) => {
  const witness = toWitness(await startAnswering(status));
  expect(await addCheckpoint(witness, request)).toEqual({
    kind: "failed",
    problem: `it answered ${status}: give it this log's vkey, which /v1/pubkey shows`,
  });
});

it("a proof that a witness refuses contradicts the log, unless the witness has cosigned nothing yet", async () => {
  const witness = toWitness(await startAnswering(422));
  const checkpoint = "localhost/log\n7\nAA==\n\n";
  const kinds = [5, 7, 0].map((oldSize) => addCheckpoint(witness, { oldSize, proof: [], checkpoint }));
  expect(await Promise.all(kinds)).toEqual([
    { kind: "inconsistent" },
    { kind: "inconsistent" },
    { kind: "failed", problem: "it answered 422" },
  ]);
});

it("a witness that is out of reach is reported with the cause", async () => {
  const server = await startAnswering(200);
  const witness = toWitness(server);
  await new Promise((resolve) => server.close(resolve));
  expect(await addCheckpoint(witness, request)).toEqual({
    kind: "failed",
    problem: expect.stringMatching(/^fetch failed: .*ECONNREFUSED/),
  });
});

describe("a witness that never ends its answer", () => {
  let server: Server;
  let isCut: Promise<void>;
  beforeAll(async () => {
    server = createServer();
    isCut = new Promise((resolve) => {
      server.on("request", (_incoming, outgoing) => {
        outgoing.on("close", resolve);
        const chunk = "x".repeat(0x4000);
        const write = () => {
          while (!outgoing.destroyed && outgoing.write(chunk));
        };
        outgoing.on("drain", write);
        write();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  it("is cut off, and has failed", async () => {
    expect(await addCheckpoint(toWitness(server), request)).toEqual({
      kind: "failed",
      problem: "its answer is too long",
    });
    await isCut;
  });
});
