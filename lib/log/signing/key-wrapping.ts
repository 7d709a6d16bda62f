/**
 * Secrets that a key management service has encrypted, as text in a setting or a file:
 *
 *     aws-kms:arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab:AQICAHh…
 *     google-kms:projects/p/locations/global/keyRings/r/cryptoKeys/k:CiQA…
 *
 * What a secret is for is bound into its ciphertext (encryption context, additional authenticated data), so one secret's
 * ciphertext in the place of another is refused. Nothing ever falls back to a plain key or a new one.
 */
import type { Env } from "#lib/env";

/** A key management service, with the name of a key there. Throws what the service's library throws. */
export interface Kms {
  encrypt(key: string, plaintext: Uint8Array, use: string): Promise<Uint8Array>;
  decrypt(key: string, ciphertext: Uint8Array, use: string): Promise<Uint8Array>;
}

export interface KeyWrapping {
  /** The secret in `text`, which messages call `name`. Throws with what to mend if it cannot be had. */
  open(text: string, use: string, name: string): Promise<string>;
  seal(secret: string, use: string): Promise<string>;
  /**
   * The text as KEY_WRAPPING_KEY wraps it, whether it was plain or wrapped by another key; null if it is so already. It is
   * unwrapped again and compared before it is given out.
   */
  rewrap(text: string, use: string, name: string): Promise<string | null>;
}

type Provider = "aws-kms" | "google-kms";
const titles: Record<Provider, string> = { "aws-kms": "AWS KMS", "google-kms": "Google Cloud KMS" };

const decryptRights: Record<Provider, string> = {
  "aws-kms": "kms:Decrypt with it, that AWS credentials are found",
  "google-kms": "cloudkms.cryptoKeyVersions.useToDecrypt with it, that Google credentials are found",
};

interface KeyName {
  provider: Provider;
  key: string;
}

/** Null for what names no key of a service. */
function parseKeyName(text: string): KeyName | null {
  const [, provider, key] = /^(aws-kms|google-kms):(\S+)$/.exec(text) ?? [];
  return provider === undefined || key === undefined ? null : { provider: provider as Provider, key };
}

/** Null for what is not wrapped. */
function parseWrapped(text: string): (KeyName & { ciphertext: Uint8Array }) | null {
  const at = text.lastIndexOf(":");
  const name = parseKeyName(text.slice(0, Math.max(0, at)));
  return name && { ...name, ciphertext: new Uint8Array(Buffer.from(text.slice(at + 1), "base64")) };
}

/** The services' libraries are loaded when a key is first wrapped by one. */
async function loadKms(provider: Provider, env: Env): Promise<Kms> {
  if (provider === "aws-kms") return (await import("./kms")).createAwsKms();
  return (await import("./kms")).createGoogleKms(env.GOOGLE_KMS_URL);
}

/** Service's message, without the request that it answers. */
function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { name, message, code } = error as NodeJS.ErrnoException;
  return [name === "Error" ? code : name, message].filter((part) => part).join(": ");
}

export function createKeyWrapping(env: Env): KeyWrapping {
  const services = new Map<Provider, Promise<Kms>>();
  const openService = (provider: Provider): Promise<Kms> => {
    const service = services.get(provider) ?? loadKms(provider, env);
    services.set(provider, service);
    return service;
  };
  const wrappingKey = env.KEY_WRAPPING_KEY;
  const wrapping: KeyWrapping = {
    open: async (given, use, name) => {
      const text = given.trim();
      const wrapped = parseWrapped(text);
      if (wrapped === null && wrappingKey === undefined) return text;
      if (wrapped === null)
        throw new Error(
          `${name} holds a plain key, but KEY_WRAPPING_KEY is set. Wrap it with \`npm run keys -- wrap\`.`,
        );
      const { provider, key, ciphertext } = wrapped;
      if (wrappingKey === undefined)
        throw new Error(
          `${name} is wrapped. Set KEY_WRAPPING_KEY, for example to ${provider}:${key}, so that new keys are wrapped too.`,
        );
      try {
        const service = await openService(provider);
        return Buffer.from(await service.decrypt(key, ciphertext, use)).toString("utf8");
      } catch (cause) {
        throw new Error(
          `${name} is wrapped by ${titles[provider]} under ${key}, and could not be unwrapped (${describeFailure(cause)}). ` +
            `Check that this key is enabled, that the service may use ${decryptRights[provider]} and the network leads there, ` +
            "and that the text is the one that was wrapped for this place. No other key is used instead, and none is generated.",
          { cause },
        );
      }
    },
    seal: async (secret, use) => {
      if (wrappingKey === undefined) return secret;
      const { provider, key } = parseKeyName(wrappingKey) as KeyName;
      const service = await openService(provider);
      const ciphertext = await service.encrypt(key, Buffer.from(secret, "utf8"), use);
      return `${wrappingKey}:${Buffer.from(ciphertext).toString("base64")}`;
    },
    rewrap: async (text, use, name) => {
      const wrapped = parseWrapped(text);
      if (wrapped !== null && `${wrapped.provider}:${wrapped.key}` === wrappingKey) return null;
      const secret = wrapped === null ? text : await wrapping.open(text, use, name);
      const sealed = await wrapping.seal(secret, use);
      if ((await wrapping.open(sealed, use, `${name}, as it was just wrapped,`)) === secret) return sealed;
      throw new Error(`${name}: the key management service gave back another secret than it was sent`);
    },
  };
  return wrapping;
}
