/**
 * AWS KMS: Encrypt and Decrypt. The SDK finds the credentials (environment, web identity, container, instance) and signs
 * the requests; the region is that of the key's ARN. https://docs.aws.amazon.com/kms/latest/APIReference/API_Decrypt.html
 */
import { loadProvider } from "#lib/load-provider";
import { findProxyAgent } from "#lib/platform/node-fetch";
import type { Kms } from "./key-wrapping";

const patienceMs = 20_000;

export async function createAwsKms(): Promise<Kms> {
  const { DecryptCommand, EncryptCommand, KMSClient } = await loadProvider(
    "A key of aws-kms",
    () => import(/* turbopackIgnore: true */ "@aws-sdk/client-kms"),
  );
  const clientOf = (arn: string) => {
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
      const { CiphertextBlob } = await clientOf(arn).send(command, limit());
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
      const { Plaintext } = await clientOf(arn).send(command, limit());
      if (Plaintext === undefined) throw new Error("Decrypt answered no plaintext");
      return Plaintext;
    },
  };
}
