/** The one table of operations; validation, dispatch and the OpenAPI document are all made from it. */
import { agentsOperations } from "./operations-agents";
import { attestationsOperations } from "./operations-attestations";
import { authorizationsOperations } from "./operations-authorizations";
import { keysOperations } from "./operations-keys";
import { logOperations } from "./operations-log";
import { mcpOperations } from "./operations-mcp";
import { presentationsOperations } from "./operations-presentations";
import { receiptsOperations } from "./operations-receipts";
import { rostersOperations } from "./operations-rosters";
import { rulesOperations } from "./operations-rules";
import { serviceOperations } from "./operations-service";
import { webhooksOperations } from "./operations-webhooks";

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
  ...serviceOperations,
  ...webhooksOperations,
};

export type OperationId = keyof typeof operations;
