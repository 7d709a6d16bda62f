/** The one table of operations; validation, dispatch and the OpenAPI document are all made from it. */
import { agentsOperations, keysOperations, rostersOperations, scimOperations } from "./agents";
import { attestationsOperations, presentationsOperations, receiptsOperations } from "./attestations";
import { authorizationsOperations, rulesOperations } from "./authorizations";
import { logOperations, mcpOperations, serviceOperations } from "./service";
import { webhooksOperations } from "./webhooks";

export const operations = {
  ...attestationsOperations,
  ...agentsOperations,
  ...authorizationsOperations,
  ...keysOperations,
  ...logOperations,
  ...mcpOperations,
  ...presentationsOperations,
  ...receiptsOperations,
  ...rostersOperations,
  ...rulesOperations,
  ...scimOperations,
  ...serviceOperations,
  ...webhooksOperations,
};

export type OperationId = keyof typeof operations;
