/** The store of LOG_STORE; the S3 client is loaded only if it is asked for. */

import type { Env } from "#lib/env";
import { parseStoreAddress } from "#lib/protocol/text/store-address";
import { openFolderStore } from "./folder-store";
import type { ObjectStore } from "./object-store";
import type { Patience } from "./s3-store";

/** Null without one. */
export async function openStore(
  address: string | undefined,
  { LOG_STORE_ENDPOINT: endpoint }: Pick<Env, "LOG_STORE_ENDPOINT">,
  patience?: Patience,
): Promise<ObjectStore | null> {
  if (address === undefined) return null;
  const parsed = parseStoreAddress(address);
  if (parsed === null) throw new Error(`${address} is neither s3://bucket/prefix nor file:/path`);
  const { bucket, path } = parsed;
  if (bucket === null) return openFolderStore(path);
  const { openS3Store } = await import("./s3-store");
  return openS3Store({ bucket, prefix: path, endpoint, ...patience });
}
