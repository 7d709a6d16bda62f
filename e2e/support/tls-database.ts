/** A PostgreSQL of the tests behind TLS: what comes encrypted goes on in the clear, so the server itself needs no certificate. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { createSecureContext, TLSSocket } from "node:tls";

export interface TlsDatabase {
  /** The database's address through TLS, without parameters. */
  url(host: "localhost" | "127.0.0.1"): URL;
  /** The file of the authority's certificate, of one that nobody uses, and of a client's certificate and key. */
  files: Record<"root" | "otherRoot" | "client" | "clientKey", string>;
  /** Encrypted connections: the version, and whether the client has shown a certificate of the authority's. */
  connections: { version: string | null; hasCertificate: boolean }[];
  stop(): Promise<void>;
}

export async function startTlsDatabase(databaseUrl: string): Promise<TlsDatabase> {
  const folder = mkdtempSync(path.join(tmpdir(), "countersign-tls-"));
  const at = (file: string) => path.join(folder, file);
  const issue = (file: string, extension: string, issuer?: string) =>
    execFileSync(
      "openssl",
      [
        ...["req", "-x509", "-nodes", "-days", "30", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
        ...["-subj", `/CN=${file}`, "-keyout", `${file}.key`, "-out", `${file}.pem`, "-addext", extension],
        ...(issuer === undefined ? [] : ["-CA", `${issuer}.pem`, "-CAkey", `${issuer}.key`]),
      ],
      { cwd: folder, stdio: "pipe" },
    );
  issue("root", "basicConstraints=critical,CA:TRUE");
  issue("other", "basicConstraints=critical,CA:TRUE");
  // A certificate that 127.0.0.1 is not in.
  issue("server", "subjectAltName=DNS:localhost", "root");
  issue("client", "basicConstraints=CA:FALSE", "root");
  const read = (file: string) => readFileSync(at(file));
  const secureContext = createSecureContext({
    cert: read("server.pem"),
    key: read("server.key"),
    ca: read("root.pem"),
  });
  const target = new URL(databaseUrl);
  const connections: TlsDatabase["connections"] = [];
  const sockets = new Set<Socket>();
  const server = createServer((plain) => {
    sockets.add(plain);
    plain.on("error", () => {});
    plain.once("data", () => {
      plain.write("S");
      const near = new TLSSocket(plain, { isServer: true, secureContext, requestCert: true });
      near.once("secure", () =>
        connections.push({
          version: near.getProtocol(),
          hasCertificate: near.getPeerX509Certificate() !== undefined,
        }),
      );
      const far = connect(Number(target.port), target.hostname);
      near.pipe(far).pipe(near);
      for (const socket of [near, far]) socket.on("error", () => far.destroy());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: (host) => Object.assign(new URL(databaseUrl), { hostname: host, port: String(port) }),
    files: {
      root: at("root.pem"),
      otherRoot: at("other.pem"),
      client: at("client.pem"),
      clientKey: at("client.key"),
    },
    connections,
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      // A refused one can wait forever for the other side to end.
      for (const socket of sockets) socket.destroy();
      await closed;
      rmSync(folder, { recursive: true });
    },
  };
}
