/**
 * AWS KMS: Encrypt and Decrypt. The SDK finds the credentials (environment, web identity, container, instance) and signs
 * the requests; the region is that of the key's ARN. https://docs.aws.amazon.com/kms/latest/APIReference/API_Decrypt.html
 */
import { loadProvider } from "#lib/env";
import { findProxyAgent } from "#lib/platform/node-fetch";
import type { Kms } from "./key-wrapping";

const patienceMs = 20_000;

export async function createAwsKms(): Promise<Kms> {
  const { DecryptCommand, EncryptCommand, KMSClient } = await loadProvider(
    "A key of aws-kms",
    () => import(/* turbopackIgnore: true */ "@aws-sdk/client-kms"),
  );
  const openClient = (arn: string) => {
    const region = arn.split(":")[3] ?? "";
    const httpsAgent = findProxyAgent(`https://kms.${region}.amazonaws.com`);
    return new KMSClient({ region, ...(httpsAgent && { requestHandler: { httpsAgent } }) });
  };
  const limit = () => ({ abortSignal: AbortSignal.timeout(patienceMs) });
  return {
    encrypt: async (arn, plaintext, use) => {
      const command = new EncryptCommand({
        KeyId: arn,
        Plaintext: plaintext,
        EncryptionContext: { countersign: use },
      });
      const { CiphertextBlob } = await openClient(arn).send(command, limit());
      if (CiphertextBlob === undefined) throw new Error("Encrypt answered no ciphertext");
      return CiphertextBlob;
    },
    decrypt: async (arn, ciphertext, use) => {
      // KeyId: only this key may unwrap it, whichever key the ciphertext names.
      const command = new DecryptCommand({
        KeyId: arn,
        CiphertextBlob: ciphertext,
        EncryptionContext: { countersign: use },
      });
      const { Plaintext } = await openClient(arn).send(command, limit());
      if (Plaintext === undefined) throw new Error("Decrypt answered no plaintext");
      return Plaintext;
    },
  };
}

/*
 * Google Cloud KMS: encrypt and decrypt of a symmetric key, over REST. The library finds the credentials (a service
 * account's file, workload identity, the metadata server) and signs or fetches the bearer token.
 * https://cloud.google.com/kms/docs/reference/rest/v1/projects.locations.keyRings.cryptoKeys/decrypt
 */

const scopes = ["https://www.googleapis.com/auth/cloudkms"];
const encode = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");

/** Google puts its errors' details in the body. */
function explain(error: unknown): never {
  const { response } = error as { response?: { data?: { error?: { status?: string; message?: string } } } };
  const said = response?.data?.error;
  if (said?.message === undefined) throw error;
  throw new Error(`${said.status}: ${said.message}`, { cause: error });
}

export async function createGoogleKms(url: string): Promise<Kms> {
  const { GoogleAuth } = await loadProvider(
    "A key of google-kms",
    () => import(/* turbopackIgnore: true */ "google-auth-library"),
  );
  const auth = new GoogleAuth({ scopes });
  // A service account signs its own token: no second service is asked.
  auth.useJWTAccessWithScope = true;
  async function call(key: string, verb: string, data: Record<string, string>, field: string) {
    const client = await auth.getClient();
    const address = `${url.replace(/\/+$/, "")}/v1/${key}:${verb}`;
    const request = { url: address, method: "POST", data, signal: AbortSignal.timeout(patienceMs) } as const;
    const answer = await client.request<Record<string, string>>(request).catch(explain);
    const value = answer.data[field];
    if (value === undefined) throw new Error(`${verb} answered no ${field}`);
    return new Uint8Array(Buffer.from(value, "base64"));
  }
  const bind = (use: string) => encode(Buffer.from(`countersign ${use}`));
  return {
    encrypt: (key, plaintext, use) =>
      call(
        key,
        "encrypt",
        { plaintext: encode(plaintext), additionalAuthenticatedData: bind(use) },
        "ciphertext",
      ),
    decrypt: (key, ciphertext, use) =>
      call(
        key,
        "decrypt",
        { ciphertext: encode(ciphertext), additionalAuthenticatedData: bind(use) },
        "plaintext",
      ),
  };
}
