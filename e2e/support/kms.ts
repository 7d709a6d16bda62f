/**
 * AWS KMS and Google Cloud KMS for tests: they check each request's signature by computing it again from the documents
 * (Signature Version 4; RFC 7519 with RS256), encrypt with AES-256-GCM under a key of their own, and refuse what the real
 * ones refuse.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  verify,
} from "node:crypto";
import type { IncomingMessage } from "node:http";
import { listen } from "./listen";

export const awsKey = "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab";
export const nextAwsKey = awsKey.replace("1234abcd", "5678abcd");
export const googleKey = "projects/p/locations/global/keyRings/r/cryptoKeys/k";
const awsCredentials = { id: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" };

class Refusal extends Error {
  readonly status: number;
  readonly kind: string;
  constructor(status: number, kind: string, message = kind) {
    super(message);
    this.status = status;
    this.kind = kind;
  }
}

function seal(master: Buffer, plaintext: Buffer, context: string): Buffer {
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", master, nonce).setAAD(Buffer.from(context));
  return Buffer.concat([nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
}

/** Throws for another context, another key and any changed byte. */
function unseal(master: Buffer, sealed: Buffer, context: string): Buffer {
  const decipher = createDecipheriv("aes-256-gcm", master, sealed.subarray(0, 12));
  decipher.setAAD(Buffer.from(context)).setAuthTag(sealed.subarray(-16));
  return Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()]);
}

const sha256Hex = (data: string) => createHash("sha256").update(data).digest("hex");
const hmac = (key: string | Buffer, data: string) => createHmac("sha256", key).update(data).digest();

/** https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html */
function requireAwsSignature({ method, url = "", headers }: IncomingMessage, body: string): void {
  const parts =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([\w-]+)\/kms\/aws4_request, ?SignedHeaders=([\w;-]+), ?Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? "",
    );
  if (parts === null) throw new Refusal(400, "IncompleteSignatureException");
  const [, id, day = "", region = "", signed = "", signature] = parts;
  if (id !== awsCredentials.id) throw new Refusal(400, "UnrecognizedClientException");
  const names = signed.split(";");
  const date = String(headers["x-amz-date"]);
  if (!names.includes("host") || !names.includes("x-amz-date") || !date.startsWith(day))
    throw new Refusal(400, "IncompleteSignatureException");
  const at = Date.parse(date.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, "$1-$2-$3T$4:$5:$6Z"));
  if (!(Math.abs(Date.now() - at) < 300_000)) throw new Refusal(400, "InvalidSignatureException", "expired");
  const lines = names.map((name) => `${name}:${String(headers[name]).trim()}\n`).join("");
  const canonical = [method, url, "", lines, signed, sha256Hex(body)].join("\n");
  const scope = `${day}/${region}/kms/aws4_request`;
  const text = ["AWS4-HMAC-SHA256", date, scope, sha256Hex(canonical)].join("\n");
  const key = [region, "kms", "aws4_request"].reduce(hmac, hmac(`AWS4${awsCredentials.secret}`, day));
  if (hmac(key, text).toString("hex") !== signature) throw new Refusal(400, "InvalidSignatureException");
  if (region !== "eu-central-1") throw new Refusal(400, "NotFoundException");
}

const scope = "https://www.googleapis.com/auth/cloudkms";
const account = "countersign@p.iam.gserviceaccount.com";
const metadataToken = "ya29.of-the-metadata-server";
const pair = generateKeyPairSync("rsa", { modulusLength: 2048 });

/** A service account's file, as Google hands it out. */
export const serviceAccount = {
  type: "service_account",
  project_id: "p",
  private_key_id: "key-1",
  private_key: pair.privateKey.export({ format: "pem", type: "pkcs8" }),
  client_email: account,
};

const decodePart = (part = "") => JSON.parse(Buffer.from(part, "base64url").toString() || "{}");

/** https://google.aip.dev/auth/4111: a self-signed JWT with scopes; or the token that the metadata server gave. */
function requireGoogleToken({ headers }: IncomingMessage): void {
  const token = headers.authorization?.replace(/^Bearer /, "") ?? "";
  if (token === metadataToken) return;
  const [head = "", claims = "", signature = ""] = token.split(".");
  const now = Date.now() / 1000;
  const { iss, sub, scope: asked, iat, exp } = decodePart(claims);
  const isWellMade =
    decodePart(head).alg === "RS256" &&
    decodePart(head).kid === "key-1" &&
    [iss, sub].every((name) => name === account) &&
    String(asked).split(" ").includes(scope) &&
    iat <= now + 60 &&
    exp > now &&
    exp - iat <= 3600;
  const signed = Buffer.from(`${head}.${claims}`);
  const isSigned = verify(
    "sha256",
    signed,
    createPublicKey(pair.privateKey),
    Buffer.from(signature, "base64url"),
  );
  if (!isWellMade || !isSigned)
    throw new Refusal(401, "UNAUTHENTICATED", "invalid authentication credentials");
}

export interface TestKms {
  url: string;
  /** `Encrypt`, `Decrypt`, `encrypt`, `decrypt`, `token`, in the order of the requests that were granted. */
  granted: string[];
  /** Answers every further call as a disabled key would. */
  disable(): void;
  close(): Promise<unknown>;
}

export const awsSettings = (url: string) => ({
  KEY_WRAPPING_KEY: `aws-kms:${awsKey}`,
  AWS_ENDPOINT_URL_KMS: url,
  AWS_ACCESS_KEY_ID: awsCredentials.id,
  AWS_SECRET_ACCESS_KEY: awsCredentials.secret,
  AWS_EC2_METADATA_DISABLED: "true",
});

export async function startKms(): Promise<TestKms> {
  const master = randomBytes(32);
  const granted: string[] = [];
  let isDisabled = false;

  function answerAws(request: IncomingMessage, body: string) {
    requireAwsSignature(request, body);
    const { KeyId, Plaintext, CiphertextBlob, EncryptionContext } = JSON.parse(body);
    if (isDisabled) throw new Refusal(400, "DisabledException", `${awsKey} is disabled.`);
    const verb = String(request.headers["x-amz-target"]).replace("TrentService.", "");
    if (![awsKey, nextAwsKey].includes(KeyId))
      throw new Refusal(400, verb === "Decrypt" ? "IncorrectKeyException" : "NotFoundException");
    granted.push(verb);
    const context = KeyId + JSON.stringify(EncryptionContext);
    if (verb === "Encrypt")
      return {
        KeyId,
        CiphertextBlob: seal(master, Buffer.from(Plaintext, "base64"), context).toString("base64"),
      };
    try {
      return {
        KeyId,
        Plaintext: unseal(master, Buffer.from(CiphertextBlob, "base64"), context).toString("base64"),
      };
    } catch {
      throw new Refusal(400, "InvalidCiphertextException");
    }
  }

  function answerGoogle(request: IncomingMessage, body: string) {
    requireGoogleToken(request);
    const [, key, verb = ""] = /^\/v1\/(.+):(\w+)$/.exec(request.url ?? "") ?? [];
    if (key !== googleKey) throw new Refusal(404, "NOT_FOUND", `CryptoKey ${key} not found.`);
    if (isDisabled) throw new Refusal(400, "FAILED_PRECONDITION", "the key version is not enabled");
    const { plaintext, ciphertext, additionalAuthenticatedData } = JSON.parse(body);
    granted.push(verb);
    if (verb === "encrypt")
      return {
        ciphertext: seal(master, Buffer.from(plaintext, "base64"), additionalAuthenticatedData).toString(
          "base64",
        ),
      };
    try {
      return {
        plaintext: unseal(master, Buffer.from(ciphertext, "base64"), additionalAuthenticatedData).toString(
          "base64",
        ),
      };
    } catch {
      throw new Refusal(
        400,
        "INVALID_ARGUMENT",
        "Decryption failed: verify that 'name' refers to the correct CryptoKey.",
      );
    }
  }

  /** https://cloud.google.com/compute/docs/metadata/querying-metadata */
  function answerMetadata({ url = "", headers }: IncomingMessage) {
    if (headers["metadata-flavor"] !== "Google") throw new Refusal(403, "FORBIDDEN");
    if (!url.includes("/token")) return {};
    granted.push("token");
    return { access_token: metadataToken, expires_in: 3599, token_type: "Bearer" };
  }

  function answer(request: IncomingMessage, body: string): object {
    if (request.headers["x-amz-target"] !== undefined) return answerAws(request, body);
    return request.url?.startsWith("/computeMetadata/")
      ? answerMetadata(request)
      : answerGoogle(request, body);
  }

  const { base: url, close } = await listen(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    response.setHeader("metadata-flavor", "Google");
    try {
      const found = answer(request, Buffer.concat(chunks).toString());
      response.setHeader("content-type", "application/json").end(JSON.stringify(found));
    } catch (error) {
      const { status, kind, message } = error as Refusal;
      const said = { __type: kind, message, error: { code: status, status: kind, message } };
      response.writeHead(status ?? 500, { "content-type": "application/json" }).end(JSON.stringify(said));
    }
  });
  const disable = () => {
    isDisabled = true;
  };
  return { url, granted, disable, close };
}
