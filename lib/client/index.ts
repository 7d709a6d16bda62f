/** Exports of `countersign/client`. */
export type {
  Attest,
  AttestMany,
  AttestManyOptions,
  AttestOptions,
  WriteOptions,
} from "#lib/client/api/attest";
export type {
  ApprovedAuthorization,
  ReasonOptions,
  RequestOptions,
  WaitOptions,
} from "#lib/client/api/authorize";
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
export { type AgentKey, hashInputs, signAgentRequest } from "#lib/client/api/inputs";
export type { Runtime } from "#lib/client/api/transport";
export type * from "#lib/client/api/wire";
export type { Gated, GatedAction, Run } from "#lib/client/gate/gate";
export type { AttestationExtras } from "#lib/client/gate/gate-checks";
export { type Countersign, type CountersignOptions, createCountersign } from "./create";
