/**
 * A closed-loop load generator on bare sockets: each connection sends its next request when it has the last answer.
 * It knows just enough HTTP to find an answer's end, so that it costs the measured servers as little as it can.
 */
import { connect } from "node:net";

/** Bytes of one HTTP/1.1 request. */
export function httpRequest(port, method, path, { key, body } = {}) {
  const text = body === undefined ? "" : JSON.stringify(body);
  const head = [
    `${method} ${path} HTTP/1.1`,
    `host: localhost:${port}`,
    ...(key === undefined ? [] : [`authorization: Bearer ${key}`]),
    ...(body === undefined
      ? []
      : ["content-type: application/json", `content-length: ${Buffer.byteLength(text)}`]),
  ];
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${text}`);
}

/** The status of the first complete answer in `bytes`, or null while it is not whole. */
function readStatus(bytes) {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return null;
  const head = bytes.toString("latin1", 0, end);
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  const isWhole =
    length === undefined
      ? bytes.subarray(-5).toString("latin1") === "0\r\n\r\n"
      : bytes.length >= end + 4 + Number(length);
  return isWhole ? Number(head.slice(9, 12)) : null;
}

function openConnection(port) {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  let received = [];
  let settle = null;
  const fail = (error) => settle?.reject(error ?? new Error("the server closed the connection"));
  socket.on("data", (chunk) => {
    received.push(chunk);
    const status = readStatus(received.length === 1 ? chunk : Buffer.concat(received));
    if (status === null) return;
    received = [];
    settle?.resolve(status);
  });
  socket.on("error", fail);
  socket.on("close", () => fail());
  return {
    send: (request) =>
      new Promise((resolve, reject) => {
        settle = { resolve, reject };
        socket.write(request);
      }),
    close: () => {
      settle = null;
      socket.destroy();
    },
  };
}

const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];

/**
 * `next(i)` gives the bytes of the i-th request. Answers of `status` count; others are only counted.
 * Runs for `seconds`, or until `signal` aborts; `pauseMs` after an answer of another status.
 */
export async function runLoad({ port, connections, seconds, next, status, signal, pauseMs = 0 }) {
  const latenciesMs = [];
  const others = new Map();
  const startedMs = performance.now();
  const endMs = startedMs + seconds * 1000;
  let sent = 0;
  const work = async () => {
    const connection = openConnection(port);
    while (performance.now() < endMs && !signal?.aborted) {
      const beganMs = performance.now();
      const got = await connection.send(next(sent++));
      if (got === status) latenciesMs.push(performance.now() - beganMs);
      else {
        others.set(got, (others.get(got) ?? 0) + 1);
        if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: connections }, work));
  const elapsedSeconds = (performance.now() - startedMs) / 1000;
  const sorted = latenciesMs.sort((a, b) => a - b);
  if (sorted.length === 0) throw new Error(`no answer ${status}, but ${JSON.stringify([...others])}`);
  return {
    count: sorted.length,
    perSecond: sorted.length / elapsedSeconds,
    medianMs: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
    others: Object.fromEntries(others),
  };
}
