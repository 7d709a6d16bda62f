/** Time-stamp authorities for tests: certificates and replies by openssl, behind a small HTTP server. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { buffer } from "node:stream/consumers";

type KeyKind = "rsa" | "ec";

export interface Authority {
  folder: string;
  /** PEM of the root under which it signs. */
  root: string;
  /** PEM of its own. */
  certificate: string;
  /** The reply to a request, DER. `flags`: of `openssl ts -reply`. */
  reply(query: Uint8Array, flags?: string[]): Uint8Array;
  /** True if openssl takes the response for a stamp over the data, under this root. */
  accepts(response: Uint8Array, data: Uint8Array): boolean;
  remove(): void;
}

interface Options {
  name?: string;
  key?: KeyKind;
  digest?: string;
  /** True if the certificate is signed by an authority between it and the root. */
  hasIntermediate?: boolean;
}

const config = (digest: string) => `
[tsa]
default_tsa = own
[own]
serial = serial
crypto_device = builtin
signer_cert = tsa.pem
certs = chain.pem
signer_key = tsa.key
signer_digest = ${digest}
default_policy = 1.2.3.4
digests = sha256
accuracy = secs:1
ordering = no
tsa_name = no
ess_cert_id_chain = no
`;

export function makeAuthority(options: Options = {}): Authority {
  const { name = "TEST time-stamp authority", key = "ec", digest = "sha256" } = options;
  const { hasIntermediate = false } = options;
  const folder = mkdtempSync(path.join(tmpdir(), "countersign-tsa-"));
  const at = (file: string) => path.join(folder, file);
  const openssl = (...words: string[]) => execFileSync("openssl", words, { cwd: folder, stdio: "pipe" });
  const newKey =
    key === "rsa" ? ["-newkey", "rsa:2048"] : ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
  const issue = (file: string, subject: string, extensions: string[], issuer?: string) =>
    openssl(
      ...["req", "-x509", "-nodes", "-days", "30", ...newKey, "-subj", `/CN=${subject}`],
      ...["-keyout", `${file}.key`, "-out", `${file}.pem`, ...extensions.flatMap((one) => ["-addext", one])],
      ...(issuer === undefined ? [] : ["-CA", `${issuer}.pem`, "-CAkey", `${issuer}.key`]),
    );
  issue("root", `${name} root`, []);
  if (hasIntermediate) issue("middle", `${name} CA`, ["basicConstraints=critical,CA:TRUE"], "root");
  const issuer = hasIntermediate ? "middle" : "root";
  issue("tsa", name, ["basicConstraints=CA:FALSE", "extendedKeyUsage=critical,timeStamping"], issuer);
  writeFileSync(at("chain.pem"), readFileSync(at(`${issuer}.pem`)));
  writeFileSync(at("serial"), "01\n");
  writeFileSync(at("tsa.cnf"), config(digest));
  return {
    folder,
    root: readFileSync(at("root.pem"), "utf8"),
    certificate: readFileSync(at("tsa.pem"), "utf8"),
    reply: (query, flags = []) => {
      writeFileSync(at("query.tsq"), query);
      openssl("ts", "-reply", "-config", "tsa.cnf", "-queryfile", "query.tsq", "-out", "reply.tsr", ...flags);
      return new Uint8Array(readFileSync(at("reply.tsr")));
    },
    accepts: (response, data) => {
      writeFileSync(at("given.tsr"), response);
      writeFileSync(at("data"), data);
      try {
        openssl("ts", "-verify", "-in", "given.tsr", "-data", "data", "-CAfile", "root.pem");
        return true;
      } catch {
        return false;
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

export interface TestTsa {
  url: string;
  /** Requests so far. */
  queries: Uint8Array[];
  /** Sets its answers; default: the authority's reply. `null`: nothing, ever. */
  answer(make: ((query: Uint8Array) => Uint8Array | null) | null): void;
  close(): Promise<void>;
}

export async function startTestTsa(authority: Authority): Promise<TestTsa> {
  const queries: Uint8Array[] = [];
  let make: (query: Uint8Array) => Uint8Array | null = (query) => authority.reply(query);

  async function serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const query = new Uint8Array(await buffer(incoming));
    if (incoming.headers["content-type"] !== "application/timestamp-query") {
      outgoing.writeHead(415).end();
      return;
    }
    queries.push(query);
    const reply = make(query);
    if (reply === null) return;
    outgoing.writeHead(200, { "content-type": "application/timestamp-reply" }).end(reply);
  }

  const server = createServer((incoming, outgoing) => void serve(incoming, outgoing));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/tsr`,
    queries,
    answer: (other) => {
      make = other ?? (() => null);
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
