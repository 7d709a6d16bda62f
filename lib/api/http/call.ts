/** Input and output of an operation's function, by the operation's specification. */
import type { z } from "zod";
import type { Auth, OperationSpec } from "#lib/api/operations/operation";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import type { HttpContext } from "./context";
import type { IdempotencyHold } from "./idempotency-leases";
import type { HttpRequest, HttpResponse } from "./messages";
import type { KeyPrincipal } from "./principal";

export type Params = Record<string, string>;
export type Handler = (request: HttpRequest, params: Params) => Promise<HttpResponse | Response>;

/** Never null behind a key; null for the public, and where an operation doesn't ask. */
export type PrincipalOf<Kind extends Auth["kind"]> = {
  key: KeyPrincipal;
  optional: KeyPrincipal | null;
  none: null;
}[Kind];

/** Input of an operation's own function: everything is checked. */
export interface Call<
  Body,
  Query,
  Context extends HttpContext = HttpContext,
  Kind extends Auth["kind"] = Auth["kind"],
> {
  context: Context;
  request: HttpRequest;
  params: Params;
  query: Query;
  body: Body;
  /** The body as it was sent. */
  raw: JsonObject;
  requestId: string;
  /** For operations that do each entry of a body once; those that do all of it once have a `hold`. */
  idempotencyKey: string | null;
  principal: PrincipalOf<Kind>;
  ip: string;
  hold: IdempotencyHold | null;
}

export interface Reply {
  status?: number;
  /** JSON. */
  body: unknown;
  headers?: Record<Lowercase<string>, string>;
  /** The agents of the attestations that were recorded. */
  attested?: readonly string[];
}

export type BodyOf<Spec extends OperationSpec> = Spec["body"] extends z.ZodType
  ? z.output<Spec["body"]>
  : null;
export type QueryOf<Spec extends OperationSpec> = Spec["query"] extends z.ZodObject
  ? z.output<Spec["query"]>
  : Record<string, never>;
export type CallOf<Spec extends OperationSpec, Context extends HttpContext> = Call<
  BodyOf<Spec>,
  QueryOf<Spec>,
  Context,
  Spec["auth"]["kind"]
>;
export type OperationHandler<Spec extends OperationSpec, Context extends HttpContext> = (
  call: CallOf<Spec, Context>,
) => Promise<Reply | Response>;

/** Completes a kept answer for an idempotent replay, if part of it must not be stored. */
export type Hydrate<Context extends HttpContext> = (
  context: Context,
  kept: string,
  principal: KeyPrincipal,
) => Promise<string>;

export type Handlers<Specs extends Record<string, OperationSpec>, Context extends HttpContext> = {
  [Id in keyof Specs]: OperationHandler<Specs[Id], Context>;
};
