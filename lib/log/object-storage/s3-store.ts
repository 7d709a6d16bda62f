/**
 * A store in a bucket of any S3. The SDK finds credentials and region (AWS_ACCESS_KEY_ID, AWS_REGION, web identity, container,
 * instance), signs and tries again. Conditional writes:
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
 */
import type { S3ServiceException } from "@aws-sdk/client-s3";
import { loadProvider } from "#lib/env";
import { findProxyAgent } from "#lib/platform/node-fetch";
import type { ObjectKind, ObjectStore, Patience } from "./object-store";

export interface S3Options extends Partial<Patience> {
  bucket: string;
  prefix: string;
  /** URL of another server than Amazon's, which is addressed by path: its buckets have no host names of their own. */
  endpoint: string | undefined;
}

const connectMs = 2_000;

const cacheControl: Record<ObjectKind, string> = {
  immutable: "public, max-age=31536000, immutable",
  checkpoint: "public, max-age=2",
  lock: "no-store",
};

const contentType: Record<ObjectKind, string> = {
  immutable: "application/octet-stream",
  checkpoint: "text/plain; charset=utf-8",
  lock: "application/json",
};

const readStatus = (error: unknown) => (error as S3ServiceException).$metadata?.httpStatusCode;

export async function openS3Store(options: S3Options): Promise<ObjectStore> {
  const { GetObjectCommand, ListObjectsV2Command, PutObjectCommand, S3Client } = await loadProvider(
    "LOG_STORE=s3://…",
    () => import(/* turbopackIgnore: true */ "@aws-sdk/client-s3"),
  );
  const { bucket, prefix, endpoint, patienceMs = 10_000, attempts = 3 } = options;
  const agent = findProxyAgent(endpoint ?? "https://s3.amazonaws.com");
  const client = new S3Client({
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    maxAttempts: attempts,
    // Other servers than Amazon's don't know the newer checksums.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    requestHandler: {
      connectionTimeout: connectMs,
      requestTimeout: patienceMs,
      throwOnRequestTimeout: true,
      ...(agent && { httpAgent: agent, httpsAgent: agent }),
    },
  });
  const toObjectKey = (name: string) => (prefix === "" ? name : `${prefix}/${name}`);

  /** Null if there is none. The SDK tries again until the answer begins: one that breaks off later is the caller's to read again. */
  async function get(name: string) {
    try {
      const { Body, ETag } = await client.send(
        new GetObjectCommand({ Bucket: bucket, Key: toObjectKey(name) }),
      );
      if (Body === undefined || ETag === undefined) throw new Error(`the store answers no ${name}`);
      return { body: Body, tag: ETag };
    } catch (error) {
      if ((error as Error).name === "NoSuchKey") return null;
      throw error;
    }
  }

  /** The new tag; null if the condition didn't hold. */
  async function put(
    name: string,
    bytes: Uint8Array,
    kind: ObjectKind,
    condition: { IfMatch?: string; IfNoneMatch?: string },
  ): Promise<string | null> {
    const command = new PutObjectCommand({
      Bucket: bucket,
      Key: toObjectKey(name),
      Body: bytes,
      ...condition,
      ContentType: contentType[kind],
      CacheControl: cacheControl[kind],
    });
    try {
      const { ETag } = await client.send(command);
      if (ETag === undefined) throw new Error(`the store answers no ETag for ${name}`);
      return ETag;
    } catch (error) {
      // 409: somebody else wrote at the same moment. 404: If-Match, but there is none.
      const isRefused = [412, 409].includes(readStatus(error) ?? 0);
      if (isRefused || (condition.IfMatch !== undefined && readStatus(error) === 404)) return null;
      throw error;
    }
  }

  return {
    name: `s3://${bucket}${prefix === "" ? "" : `/${prefix}`}`,
    read: async (name) => {
      for (let left = attempts; ; left -= 1) {
        const answer = await get(name);
        if (answer === null) return null;
        const bytes = await answer.body.transformToByteArray().catch((error: unknown) => {
          if (left <= 1) throw error;
          return null;
        });
        if (bytes !== null) return { bytes, tag: answer.tag };
      }
    },
    create: async (name, bytes, kind) => (await put(name, bytes, kind, { IfNoneMatch: "*" })) !== null,
    write: async (name, bytes, kind) => void (await put(name, bytes, kind, {})),
    replace: (name, bytes, tag) =>
      put(name, bytes, "lock", tag === null ? { IfNoneMatch: "*" } : { IfMatch: tag }),
    list: async (folder) => {
      const names: string[] = [];
      const base = `${toObjectKey(folder)}/`;
      let token: string | undefined;
      do {
        const page = await client.send(
          new ListObjectsV2Command({
            Bucket: bucket,
            Prefix: base,
            Delimiter: "/",
            ...(token !== undefined && { ContinuationToken: token }),
          }),
        );
        for (const { Key } of page.Contents ?? []) if (Key !== undefined) names.push(Key.slice(base.length));
        for (const { Prefix } of page.CommonPrefixes ?? [])
          if (Prefix !== undefined) names.push(Prefix.slice(base.length, -1));
        token = page.NextContinuationToken;
      } while (token !== undefined);
      return names;
    },
    close: () => client.destroy(),
  };
}
