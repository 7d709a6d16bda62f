/** The one table of operations; validation, dispatch and the OpenAPI document are all made from it. */
import { agentsOperations } from "./operations-agents";
import { attestationsOperations } from "./operations-attestations";
import { keysOperations } from "./operations-keys";
import { serviceOperations } from "./operations-service";

export const operations = {
  ...attestationsOperations,
  ...agentsOperations,
  ...keysOperations,
  ...serviceOperations,
};

export type OperationId = keyof typeof operations;
