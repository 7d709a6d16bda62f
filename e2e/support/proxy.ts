/** A TLS server whose certificate a private authority signed, and a proxy that tunnels to it whatever it is asked for. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

export interface PrivateNetwork {
  /** PEM file of the authority. */
  caFile: string;
  proxyUrl: string;
  /** Requests to the proxy, as `CONNECT host:port`. */
  asked: string[];
  /** Answer to CONNECT; null: it connects. */
  refusal: string | null;
  close(): Promise<void>;
}

function issueCertificate(folder: string, names: readonly string[]): void {
  const openssl = (...args: string[]) => execFileSync("openssl", args, { cwd: folder, stdio: "pipe" });
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  openssl("req", "-x509", ...key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=Private CA");
  openssl("req", ...key, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=server");
  writeFileSync(path.join(folder, "names"), `subjectAltName=${names.join(",")}`);
  const signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names", "-days", "2"];
  openssl("x509", "-req", "-in", "server.csr", "-out", "server.pem", ...signed);
}

/** `names`: of the certificate, as `DNS:example.com`. */
export async function startPrivateNetwork(
  names: readonly string[],
  answer: RequestListener,
): Promise<PrivateNetwork> {
  const folder = mkdtempSync(path.join(tmpdir(), "countersign-proxy-"));
  issueCertificate(folder, names);
  const read = (name: string) => readFileSync(path.join(folder, name));
  const server = createTlsServer({ key: read("server.key"), cert: read("server.pem") }, answer);
  const proxy = createServer((request, response) => {
    network.asked.push(`${request.method} ${request.url}`);
    answer(request, response);
  });
  const servers = [server, proxy];
  // Tunnels are no connections of an HTTP server any more, but it waits for their ends.
  const sockets = new Set<Socket>();
  for (const one of servers) one.on("connection", (socket: Socket) => sockets.add(socket));
  await Promise.all(servers.map((one) => new Promise<void>((done) => one.listen(0, "127.0.0.1", done))));
  const portOf = (one: Server) => (one.address() as AddressInfo).port;
  const network: PrivateNetwork = {
    caFile: path.join(folder, "ca.pem"),
    proxyUrl: `http://user:secret@127.0.0.1:${portOf(proxy)}`,
    asked: [],
    refusal: null,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await Promise.all(servers.map((one) => new Promise((done) => one.close(done))));
      rmSync(folder, { recursive: true });
    },
  };
  proxy.on("connect", (request: IncomingMessage, socket) => {
    const isKnown = request.headers["proxy-authorization"] === `Basic ${btoa("user:secret")}`;
    network.asked.push(`CONNECT ${request.url}`);
    if (network.refusal !== null || !isKnown)
      return socket.end(network.refusal ?? "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
    const target = connect(portOf(server), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      target.pipe(socket).pipe(target);
    });
    for (const end of [socket, target]) end.on("error", () => [socket, target].map((one) => one.destroy()));
  });
  return network;
}
