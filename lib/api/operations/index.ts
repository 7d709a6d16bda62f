/** The one table of operations; validation, dispatch and the OpenAPI document are all made from it. */
import { agentsOperations } from "./agents";
import { attestationsOperations } from "./attestations";
import { authorizationsOperations } from "./authorizations";
import { keysOperations } from "./keys";
import { logOperations } from "./log";
import { mcpOperations } from "./mcp";
import { presentationsOperations } from "./presentations";
import { receiptsOperations } from "./receipts";
import { rostersOperations } from "./rosters";
import { rulesOperations } from "./rules";
import { serviceOperations } from "./service";
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
  ...serviceOperations,
  ...webhooksOperations,
};

export type OperationId = keyof typeof operations;
