/** Hosts as requests and addresses name them: `uri-host [":" port]` (RFC 9110 section 7.2, RFC 3986 section 3.2). */
export interface Host {
  /** Lower case, without the dot of the DNS root; IPv6 in brackets and shortened. */
  name: string;
  port: number;
}

const ipv4 = /^(?:\d{1,3}\.){3}\d{1,3}$/;
const pattern = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{0,5}))?$/i;

/** Canonical spelling of an IPv6 address; undefined if it is none. */
function shortenIpv6(name: string): string | undefined {
  try {
    return new URL(`http://${name}`).hostname;
  } catch {
    return undefined;
  }
}

/** Null if the text is no host: user information, white space, several hosts, a port out of range. */
export function parseHost(text: string, defaultPort: number): Host | null {
  const [, written, digits = ""] = pattern.exec(text) ?? [];
  if (written === undefined) return null;
  const name = written.startsWith("[") ? shortenIpv6(written) : written.toLowerCase().replace(/\.$/, "");
  const port = digits === "" ? defaultPort : Number(digits);
  return name === undefined || name === "" || port > 65_535 ? null : { name, port };
}

/** An address needs no name service, so that no name service can lead to it. */
export function isIpAddress(name: string): boolean {
  return name.startsWith("[") || ipv4.test(name);
}

export function isLoopbackName(name: string): boolean {
  return /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(name);
}

/** An address as browsers spell it, to append paths to: without a slash, a query or a fragment at its end. */
export function plainAddress(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`.replace(/\/+$/, "");
}

export function isLoopbackUrl(url: string): boolean {
  return isLoopbackName(new URL(url).hostname);
}

/* Store in which a log is published (LOG_STORE): `s3://bucket/prefix`, or a folder as `file:/path`. */

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
