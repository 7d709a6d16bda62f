import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { goldenExample } from "./example-receipt";

it("the example of an empty instance says what the golden receipt says", () => {
  const golden = JSON.parse(readFileSync("public/vectors/1.0.0/human-approved.json", "utf8"));
  expect(goldenExample).toMatchObject({
    agentSlug: golden.agent_slug,
    action: golden.action,
    timestamp: golden.timestamp,
    payloadHash: golden.payload_hash,
    logIndex: golden.log.index,
    approvalMethod: golden.human_approval.method,
    approvalEnvironment: golden.human_approval.environment,
  });
});
