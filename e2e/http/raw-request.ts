/** A request as its bytes say, for what no client library lets a test send. */
import { once } from "node:events";
import { connect } from "node:net";

export interface RawAnswer {
  status: number;
  /** Lower case names. */
  headers: Map<string, string>;
  body: string;
}

/** `lines`: the request line and the headers; `Connection: close` is added, so that the answer's end is seen. `from`: a loopback address. `host`: where the server is. */
export async function sendLines(
  port: number,
  lines: string[],
  { body = "", from, host = "localhost" }: { body?: string; from?: string; host?: string } = {},
): Promise<RawAnswer> {
  const socket = connect({
    port,
    host,
    ...(from !== undefined && { localAddress: from, family: 4 }),
  });
  socket.setTimeout(30_000, () => socket.destroy());
  socket.on("error", () => {});
  socket.write(Buffer.from(`${[...lines, "Connection: close"].join("\r\n")}\r\n\r\n${body}`, "latin1"));
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(chunk));
  await once(socket, "close");
  const text = Buffer.concat(chunks).toString("utf8");
  const [head = "", ...rest] = text.split("\r\n\r\n");
  const [statusLine = "", ...headerLines] = head.split("\r\n");
  const headers = headerLines.map((line): [string, string] => {
    const [name = "", ...value] = line.split(":");
    return [name.toLowerCase(), value.join(":").trim()];
  });
  return {
    status: Number(statusLine.split(" ")[1] ?? 0),
    headers: new Map(headers),
    body: rest.join("\r\n\r\n"),
  };
}
