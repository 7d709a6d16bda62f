/**
 * An S3 for tests: buckets in memory behind the protocol. It computes each request's signature again from the documents
 * (Signature Version 4), keeps conditions (If-Match, If-None-Match: *) at one moment, and refuses what the real one refuses.
 * A test makes it slow, full, deaf to conditions, or lets it answer an error after it stored, and kills and revives it.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObject.html
 */
import { createHash, createHmac } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

const credentials = { id: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" };
const region = "eu-central-1";
const bucket = "countersign-log";

class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, message = code) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

const sha256Hex = (data: string | Uint8Array) => createHash("sha256").update(data).digest("hex");
const hmac = (key: string | Buffer, data: string) => createHmac("sha256", key).update(data).digest();

/** Encodes by RFC 3986, which escapes more than encodeURIComponent does. */
const encode = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

/** https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html */
function requireSignature({ method, headers }: IncomingMessage, url: URL, body: Buffer): void {
  const parts =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([\w-]+)\/s3\/aws4_request, ?SignedHeaders=([\w;-]+), ?Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? "",
    );
  if (parts === null) throw new Refusal(403, "AccessDenied");
  const [, id, day = "", ofRegion = "", signed = "", signature] = parts;
  if (id !== credentials.id) throw new Refusal(403, "InvalidAccessKeyId");
  const date = String(headers["x-amz-date"]);
  const at = Date.parse(date.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, "$1-$2-$3T$4:$5:$6Z"));
  if (!(Math.abs(Date.now() - at) < 900_000)) throw new Refusal(403, "RequestTimeTooSkewed");
  const names = signed.split(";");
  for (const name of Object.keys(headers).filter((one) => one === "host" || one.startsWith("x-amz-")))
    if (!names.includes(name)) throw new Refusal(403, "AccessDenied", `${name} is not signed`);
  const hash = String(headers["x-amz-content-sha256"]);
  if (hash !== "UNSIGNED-PAYLOAD" && hash !== sha256Hex(body))
    throw new Refusal(400, "XAmzContentSHA256Mismatch");
  const path = decodeURIComponent(url.pathname).split("/").map(encode).join("/");
  const query = [...url.searchParams].map(([name, value]) => `${encode(name)}=${encode(value)}`).sort();
  const lines = names.map((name) => `${name}:${String(headers[name]).trim().replace(/ +/g, " ")}\n`).join("");
  const canonical = [method, path, query.join("&"), lines, signed, hash].join("\n");
  const scope = `${day}/${ofRegion}/s3/aws4_request`;
  const text = ["AWS4-HMAC-SHA256", date, scope, sha256Hex(canonical)].join("\n");
  const key = [ofRegion, "s3", "aws4_request"].reduce(hmac, hmac(`AWS4${credentials.secret}`, day));
  if (hmac(key, text).toString("hex") !== signature) throw new Refusal(403, "SignatureDoesNotMatch");
}

interface Held {
  bytes: Buffer;
  etag: string;
  headers: Record<string, string>;
}

/** Fault of a request; without one it is answered. `after`: it was stored first. */
export type Fault =
  | "error"
  | "error after"
  | "cut"
  | "cut after"
  | "cut within"
  | "full"
  | { delayMs: number };

export interface TestS3 {
  url: string;
  /** LOG_STORE and how to reach it, for the service's environment; the credentials are for the process's own. */
  settings: Record<"LOG_STORE" | "LOG_STORE_ENDPOINT", string>;
  credentials: Record<string, string>;
  objects: Map<string, Held>;
  /** `PUT name` for each request that was answered without an error. */
  answered: string[];
  /** Asked before each request, with its name below the prefix. */
  fault: (method: string, name: string) => Fault | null | Promise<Fault | null>;
  ignoresConditions: boolean;
  /** Conditions are looked at when a request comes, and bytes are stored later, as some servers do. */
  looksBeforeItWrites: boolean;
  /** Cuts every connection and takes no new one. */
  kill(): Promise<void>;
  revive(): Promise<void>;
}

const prefix = "of-the/log";
const xml = (text: string) => text.replace(/[&<>]/g, (c) => `&#${c.charCodeAt(0)};`);

export async function startS3(): Promise<TestS3> {
  const objects: TestS3["objects"] = new Map();
  const answered: string[] = [];

  const looked = new WeakSet<IncomingMessage>();

  function requireCondition(request: IncomingMessage, held: Held | undefined): void {
    if (test.ignoresConditions || looked.has(request)) return;
    const { headers } = request;
    const { "if-match": match, "if-none-match": noneMatch } = headers;
    if (noneMatch !== undefined && noneMatch !== "*") throw new Refusal(501, "NotImplemented");
    if (match !== undefined && held === undefined) throw new Refusal(404, "NoSuchKey");
    const isMet =
      (match === undefined || held?.etag === match) && (noneMatch === undefined || held === undefined);
    if (!isMet) throw new Refusal(412, "PreconditionFailed");
  }

  function put(request: IncomingMessage, key: string, bytes: Buffer): Held {
    requireCondition(request, objects.get(key));
    const kept = ["content-type", "cache-control"].map((name) => [name, String(request.headers[name])]);
    const etag = `"${createHash("md5").update(bytes).digest("hex")}"`;
    const held = { bytes, etag, headers: Object.fromEntries(kept) };
    objects.set(key, held);
    return held;
  }

  function list(url: URL): string {
    const base = url.searchParams.get("prefix") ?? "";
    const names = [...objects.keys()].filter((key) => key.startsWith(base)).sort();
    const files = names.filter((key) => !key.slice(base.length).includes("/"));
    const folders = new Set(
      names
        .filter((key) => !files.includes(key))
        .map((key) => base + key.slice(base.length).replace(/\/.*$/s, "/")),
    );
    const contents = files.map((key) => `<Contents><Key>${xml(key)}</Key></Contents>`).join("");
    const below = [...folders].map((key) => `<CommonPrefixes><Prefix>${xml(key)}</Prefix></CommonPrefixes>`);
    return `<ListBucketResult><IsTruncated>false</IsTruncated>${contents}${below.join("")}</ListBucketResult>`;
  }

  function answer(request: IncomingMessage, url: URL, body: Buffer, response: ServerResponse): void {
    requireSignature(request, url, body);
    const [, ofBucket, key = ""] = /^\/([^/]+)\/?(.*)$/s.exec(decodeURIComponent(url.pathname)) ?? [];
    if (ofBucket !== bucket) throw new Refusal(404, "NoSuchBucket");
    if (request.method === "PUT") {
      const { etag } = put(request, key, body);
      response.setHeader("etag", etag).end();
    } else if (request.method === "GET" && url.searchParams.get("list-type") === "2") {
      response.setHeader("content-type", "application/xml").end(list(url));
    } else if (request.method === "GET" && key !== "") {
      const held = objects.get(key);
      if (held === undefined) throw new Refusal(404, "NoSuchKey");
      response.writeHead(200, { ...held.headers, etag: held.etag }).end(held.bytes);
    } else throw new Refusal(501, "NotImplemented");
    answered.push(`${request.method} ${key.slice(prefix.length + 1)}`);
  }

  /** Half of the object, and then nothing. */
  function breakOff(url: URL, response: ServerResponse): void {
    const held = objects.get(decodeURIComponent(url.pathname).slice(`/${bucket}/`.length));
    if (held === undefined) throw new Refusal(404, "NoSuchKey");
    response.writeHead(200, { etag: held.etag, "content-length": held.bytes.length });
    response.write(held.bytes.subarray(0, held.bytes.length / 2), () => response.destroy());
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const url = new URL(request.url ?? "", "http://s3.invalid");
    const name = decodeURIComponent(url.pathname).slice(`/${bucket}/${prefix}/`.length);
    const fault = await test.fault(request.method ?? "", name);
    if (fault !== null && typeof fault === "object")
      await new Promise((end) => setTimeout(end, fault.delayMs));
    if (fault === "cut" || (fault === "cut after" && request.method !== "PUT"))
      return void request.socket.destroy();
    try {
      if (fault === "error" || (fault === "error after" && request.method !== "PUT"))
        throw new Refusal(500, "InternalError");
      if (fault === "full" && request.method === "PUT") throw new Refusal(507, "InsufficientStorage");
      if (fault === "error after" || fault === "cut after") {
        put(request, decodeURIComponent(url.pathname).slice(`/${bucket}/`.length), Buffer.concat(chunks));
        if (fault === "cut after") return void request.socket.destroy();
        throw new Refusal(500, "InternalError");
      }
      if (test.looksBeforeItWrites && request.method === "PUT") {
        requireCondition(request, objects.get(decodeURIComponent(url.pathname).slice(`/${bucket}/`.length)));
        looked.add(request);
        await new Promise((end) => setTimeout(end, 20));
      }
      if (fault === "cut within") return void breakOff(url, response);
      answer(request, url, Buffer.concat(chunks), response);
    } catch (error) {
      const { status = 500, code, message } = error as Refusal;
      response.writeHead(status, { "content-type": "application/xml" });
      response.end(`<Error><Code>${code}</Code><Message>${xml(message)}</Message></Error>`);
    }
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  const begin = (port: number) => new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  await begin(0);
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const test: TestS3 = {
    url,
    settings: { LOG_STORE: `s3://${bucket}/${prefix}`, LOG_STORE_ENDPOINT: url },
    credentials: {
      AWS_REGION: region,
      AWS_ACCESS_KEY_ID: credentials.id,
      AWS_SECRET_ACCESS_KEY: credentials.secret,
      AWS_EC2_METADATA_DISABLED: "true",
    },
    objects,
    answered,
    fault: () => null,
    ignoresConditions: false,
    looksBeforeItWrites: false,
    kill: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
    revive: () => begin(port),
  };
  return test;
}
