/** Exports of `countersign/client`. */
export type { AttestOptions, WriteOptions } from "#lib/client/api/attest";
export type { AttestMany, AttestManyOptions } from "#lib/client/api/attest-many";
export type { ReasonOptions, RequestOptions } from "#lib/client/api/authorize";
export type { Attest } from "#lib/client/api/client-sequence";
export type { ApprovedAuthorization, WaitOptions } from "#lib/client/api/decision";
export {
  AgentFrozenError,
  ApiError,
  ApprovalClaimedError,
  ApprovalMismatchError,
  ApprovalRevokedError,
  ApprovalUsedError,
  ConnectionError,
  CountersignError,
  type FieldProblem,
  NotApprovedError,
  NotAttestedError,
  type ProblemCode,
  UnreadableError,
} from "#lib/client/api/errors";
export { hashInputs } from "#lib/client/api/inputs";
export { type AgentKey, signAgentRequest } from "#lib/client/api/sign";
export type { Runtime } from "#lib/client/api/transport";
export type * from "#lib/client/api/verification";
export type * from "#lib/client/api/wire";
export type * from "#lib/client/api/wire-authorization";
export type { Gated, GatedAction, Run } from "#lib/client/gate/gate";
export type { AttestationExtras } from "#lib/client/gate/gate-checks";
export { type Countersign, type CountersignOptions, createCountersign } from "./create";
