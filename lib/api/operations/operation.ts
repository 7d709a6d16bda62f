/** Operation of the API: method, path, who may call, which limit, input and output. */
import type { z } from "zod";
import type { Scope } from "#lib/api/schemas/key-choices";

export type LimitName =
  | "attest"
  | "verify"
  | "feed"
  | "authorize"
  | "read_authorization"
  | "approve"
  | "key_request"
  | "public_read"
  | "keyed";

/**
 * `key`: needed, with one of the scopes; any key if none is named. `optional`: the owner's key with one of them shows
 * more. `none`: not looked at.
 */
export type Auth =
  | { kind: "key"; scopes: readonly Scope[] }
  | { kind: "optional"; scopes: readonly Scope[] }
  | { kind: "none" };

export interface FileSpec {
  /** Beginning of the answer's Content-Type, without parameters. */
  mediaType: string;
  schema: z.ZodType;
}

export interface OperationSpec {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** `{name}` stands for one segment, `{name...}` for the rest of the path. */
  path: string;
  summary: string;
  tag: "Attestations" | "Agents" | "Authorizations" | "Rules" | "API keys" | "Webhooks" | "Log" | "Service";
  auth: Auth;
  limit: LimitName | null;
  /** Number of requests that a valid body counts as; default: 1. */
  countsAs?: (body: never) => number;
  query?: z.ZodObject;
  body?: z.ZodType;
  /** The handler reads the body: protobuf or JSON, gzip or not. Errors are answered as OTLP has them. */
  payload?: "otlp";
  /** Stores nothing unless the caller's key is still what it was when the request came. */
  rechecksCaller?: boolean;
  /** Appends to the log: one process of a server answers all such requests. */
  runsInWriter?: boolean;
  idempotent?: true | "by_entry";
  /** Default: 64 KiB. */
  maxBodyBytes?: number;
  /** Keyed by success status; null for what is not JSON: a `file`, or a page's business. */
  responses: Record<number, z.ZodType | null>;
  file?: FileSpec;
  /** Media type that `Accept` may request in place of JSON. */
  alternative?: FileSpec;
  errors: readonly number[];
  internal?: boolean;
  /** RFC 7644: answers and errors have its media type and form. */
  isScim?: true;
  /** Answered to clients on the service's own machine alone: it shows what was mailed. */
  onlyFromThisMachine?: boolean;
}

/** A POST whose fields are all optional may come without a body. SCIM's schemas take every field, and check later. */
export const isBodyOptional = ({ method, body, isScim }: OperationSpec): boolean =>
  method === "POST" && isScim !== true && body?.safeParse({}).success === true;

export const withKey = (...scopes: readonly Scope[]) => ({ kind: "key", scopes }) as const;
export const anyone = { kind: "none" } as const;
export const ownerSeesMore = { kind: "optional", scopes: ["read"] } as const;
