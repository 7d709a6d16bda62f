/** Exports of `countersign/client`. */
export type { AttestOptions, WriteOptions } from "./attest";
export type { AttestMany, AttestManyOptions } from "./attest-many";
export type { ReasonOptions, RequestOptions } from "./authorize";
export type { Attest } from "./client-sequence";
export { type Countersign, type CountersignOptions, createCountersign } from "./create";
export type { ApprovedAuthorization, WaitOptions } from "./decision";
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
} from "./errors";
export type { Gated, GatedAction, Run } from "./gate";
export type { AttestationExtras } from "./gate-checks";
export { hashInputs } from "./inputs";
export { type AgentKey, signAgentRequest } from "./sign";
export type { Runtime } from "./transport";
export type * from "./verification";
export type * from "./wire";
export type * from "./wire-authorization";
