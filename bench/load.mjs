/**
 * A closed-loop load generator on bare sockets: each connection sends its next request when it has the last answer.
 * It knows just enough HTTP to find an answer's end, so that it costs the measured servers as little as it can.
 */
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { quantile } from "./figures.mjs";

/**
 * Bytes of one HTTP/1.1 request; `address`: of a client behind the reverse proxy that the benchmark plays;
 * `isBrowser`: it takes gzip.
 */
export function httpRequest(port, method, path, { key, body, address, isBrowser = false } = {}) {
  const text = body === undefined ? "" : JSON.stringify(body);
  const head = [
    `${method} ${path} HTTP/1.1`,
    `host: localhost:${port}`,
    ...(address === undefined ? [] : [`x-forwarded-for: ${address}`]),
    ...(isBrowser ? ["accept-encoding: gzip"] : []),
    ...(key === undefined ? [] : [`authorization: Bearer ${key}`]),
    ...(body === undefined
      ? []
      : ["content-type: application/json", `content-length: ${Buffer.byteLength(text)}`]),
  ];
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${text}`);
}

/** The first answer in `bytes`, or null while it is not whole. */
function readAnswer(bytes) {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return null;
  const head = bytes.toString("latin1", 0, end);
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  const isWhole =
    length === undefined
      ? bytes.subarray(-5).toString("latin1") === "0\r\n\r\n"
      : bytes.length >= end + 4 + Number(length);
  return isWhole ? { status: Number(head.slice(9, 12)), body: bytes.subarray(end + 4) } : null;
}

/** `send` resolves to the status and the bytes of the body (with what chunks it, if it is chunked). */
export function openConnection(port) {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  let received = [];
  let settle = null;
  const fail = (error) => settle?.reject(error ?? new Error("the server closed the connection"));
  socket.on("data", (chunk) => {
    received.push(chunk);
    const answer = readAnswer(received.length === 1 ? chunk : Buffer.concat(received));
    if (answer === null) return;
    received = [];
    settle?.resolve(answer);
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

/**
 * `next(i)` gives the bytes of the i-th request. Answers of `status` count, and `take` gets their bodies; others are
 * only counted. Runs for `seconds`, for `count` requests, or until `signal` aborts; `pauseMs` between two requests of a
 * connection.
 */
export async function runLoad({
  port,
  connections,
  seconds = Number.POSITIVE_INFINITY,
  count = Number.POSITIVE_INFINITY,
  next,
  status,
  take,
  signal,
  pauseMs = 0,
}) {
  const latenciesMs = [];
  const others = new Map();
  const startedMs = performance.now();
  const endMs = startedMs + seconds * 1000;
  let sent = 0;
  const work = async () => {
    const connection = openConnection(port);
    while (sent < count && performance.now() < endMs && !signal?.aborted) {
      const beganMs = performance.now();
      const answer = await connection.send(next(sent++));
      if (answer.status === status) {
        latenciesMs.push(performance.now() - beganMs);
        take?.(answer.body);
      } else others.set(answer.status, (others.get(answer.status) ?? 0) + 1);
      if (pauseMs > 0) await sleep(pauseMs);
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: connections }, work));
  const elapsedSeconds = (performance.now() - startedMs) / 1000;
  if (latenciesMs.length === 0) throw new Error(`no answer ${status}, but ${JSON.stringify([...others])}`);
  return {
    count: latenciesMs.length,
    perSecond: latenciesMs.length / elapsedSeconds,
    medianMs: quantile(latenciesMs, 0.5),
    p99Ms: quantile(latenciesMs, 0.99),
    others: Object.fromEntries(others),
  };
}
