/** For tests: a name server on this machine (RFC 1035) that answers with TXT records, with nothing, or not at all. */
import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import { once } from "node:events";

export interface NameServer {
  /** Keyed by name in lower case. A missing name does not exist; null: no answer (SERVFAIL). */
  records: Map<string, string[] | null>;
  resolveTxt(name: string): Promise<string[][]>;
  close(): void;
}

/** The labels of the one question, and where it ends. */
function readQuestion(query: Buffer): { name: string; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), end: at + 5 };
}

/** Name by pointer to the question, type TXT, class IN, an hour; the text in parts of up to 255 bytes. */
function encodeTxt(text: string): Buffer {
  const bytes = Buffer.from(text);
  const parts = Array.from({ length: Math.ceil(bytes.length / 255) }, (_, part) => {
    const chunk = bytes.subarray(part * 255, part * 255 + 255);
    return Buffer.concat([Buffer.from([chunk.length]), chunk]);
  });
  const data = Buffer.concat(parts);
  const head = Buffer.from([0xc0, 12, 0, 16, 0, 1, 0, 0, 14, 16, 0, 0]);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

export async function startNameServer(): Promise<NameServer> {
  const records: NameServer["records"] = new Map();
  const socket = createSocket("udp4");
  socket.on("message", (query, { port, address }) => {
    const { name, end } = readQuestion(query);
    const found = records.get(name);
    const code = found === undefined ? 3 : found === null ? 2 : 0;
    const header = Buffer.from([
      query[0] ?? 0,
      query[1] ?? 0,
      0x84,
      0x80 | code,
      0,
      1,
      0,
      found?.length ?? 0,
      0,
      0,
      0,
      0,
    ]);
    socket.send(
      Buffer.concat([header, query.subarray(12, end), ...(found ?? []).map(encodeTxt)]),
      port,
      address,
    );
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  const resolver = new Resolver();
  resolver.setServers([`127.0.0.1:${socket.address().port}`]);
  return { records, resolveTxt: (name) => resolver.resolveTxt(name), close: () => socket.close() };
}
