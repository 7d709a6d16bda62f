/** Where a log is published (LOG_STORE): `s3://bucket/prefix`, or a folder as `file:/path`. */

export interface StoreAddress {
  /** S3 bucket; null for a folder. */
  bucket: string | null;
  /** The prefix in the bucket, without slashes around it; the folder's path. */
  path: string;
}

/** Null for a path with a percent sign that encodes nothing. */
function decodePath(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** Null for everything but the two. */
export function parseStoreAddress(text: string): StoreAddress | null {
  const folder = /^file:(?:\/\/)?(\/.+)$/.exec(text)?.[1];
  if (folder !== undefined) {
    const path = decodePath(folder);
    return path === null ? null : { bucket: null, path };
  }
  const [, bucket, prefix = ""] =
    /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([\w!.*'()/-]*))?$/.exec(text) ?? [];
  if (bucket === undefined) return null;
  const path = prefix.replace(/^\/+|\/+$/g, "");
  return path.split("/").includes("..") || path.includes("//") ? null : { bucket, path };
}
