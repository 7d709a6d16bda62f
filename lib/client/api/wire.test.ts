/** The types of the package are those of the schemas. The compiler checks it: a difference is an error in this file. */
import { expectTypeOf, it } from "vitest";
import type { z } from "zod";
import type { AttestBatchResponse, AttestResponse, attestBody } from "#lib/api/schemas/attest";
import type { AuthorizeResponse, AuthorizationState as State } from "#lib/api/schemas/authorization-state";
import type { AuthorizeBody } from "#lib/api/schemas/authorize";
import type { IdentityResponse } from "#lib/api/schemas/identity";
import type {
  AgentIdentity,
  Attestation,
  AttestBatchAnswer,
  AttestRequest,
  AuthorizationRequest,
  AuthorizationState,
  AuthorizeRequest,
} from "./wire";

/** Drops `?`: the package doesn't distinguish a missing field from an undefined one. */
type Plain<T> = T extends readonly (infer Item)[]
  ? Plain<Item>[]
  : T extends object
    ? { [Name in keyof T]-?: Plain<T[Name]> }
    : T;
/** Both ways, or the two are not equal. */
type Same<A, B> = [Plain<A>] extends [Plain<B>] ? ([Plain<B>] extends [Plain<A>] ? true : false) : false;

type Body = z.input<typeof attestBody>;

it("has the types of the schemas", () => {
  expectTypeOf<Same<AttestRequest, Body>>().toEqualTypeOf<true>();
  expectTypeOf<Same<AuthorizeRequest, AuthorizeBody>>().toEqualTypeOf<true>();
  expectTypeOf<Same<Attestation, AttestResponse>>().toEqualTypeOf<true>();
  expectTypeOf<AttestBatchResponse>().toExtend<Plain<AttestBatchAnswer>>();
  expectTypeOf<Same<AuthorizationRequest, AuthorizeResponse>>().toEqualTypeOf<true>();
  expectTypeOf<Same<AuthorizationState, State>>().toEqualTypeOf<true>();
  expectTypeOf<Same<AgentIdentity, IdentityResponse>>().toEqualTypeOf<true>();
});
