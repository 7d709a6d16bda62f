/** Witness responses are bounded: the service does not read on as long as the witness likes. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeVerifierKey, type VerifierKey } from "#lib/protocol/tlog/checkpoint";
import { addCheckpoint } from "./witnesses";

const toWitness = (port: number, key: VerifierKey) => ({
  name: key.name,
  keys: [key],
  url: `http://127.0.0.1:${port}`,
});

it.each([403, 404])("a witness that doesn't know the log (%d) is given its key", async (status) => {
  const server = createServer((_incoming, outgoing) => outgoing.writeHead(status).end());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const key = makeVerifierKey("witness.test/strange", 4, new Uint8Array(32));
  const request = { oldSize: 0, proof: [], checkpoint: "localhost/log\n1\nAA==\n\n" };
  expect(await addCheckpoint(toWitness(port, key), request)).toEqual({
    kind: "failed",
    problem: `it answered ${status}: give it this log's vkey, which /v1/pubkey shows`,
  });
  server.close();
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
    const { port } = server.address() as AddressInfo;
    const key = makeVerifierKey("witness.test/endless", 4, new Uint8Array(32));
    const witness = toWitness(port, key);
    const request = { oldSize: 0, proof: [], checkpoint: "localhost/log\n1\nAA==\n\n" };
    expect(await addCheckpoint(witness, request)).toEqual({
      kind: "failed",
      problem: "its answer is too long",
    });
    await isCut;
  });
});
