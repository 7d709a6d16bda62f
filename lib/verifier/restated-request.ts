import { isJsonObject, type JsonObject } from "#lib/core/encoding/canonical-json";
import { fail, type Outcome, pass } from "#lib/core/statement/outcome";
import { findMisfit } from "./redundant-fields";

const askedFields = [
  "request_id",
  "agent_slug",
  "action",
  "tool",
  "amount",
  "grant",
  "inputs_hash",
  "required_level",
  "created_at",
  "expires_at",
];
const decidedFields = ["decided_by", "environment", "usable_until"];

/** The answer of GET /v1/authorize/{id} repeats fields of the object in it: each must be the same in both. */
export function checkRestatedRequest(answer: JsonObject, object: JsonObject): Outcome {
  const request = isJsonObject(object["request"]) ? object["request"] : {};
  const misfit = findMisfit(answer, {
    ...Object.fromEntries(askedFields.map((name) => [name, request[name] ?? null])),
    ...Object.fromEntries(decidedFields.map((name) => [name, object[name] ?? null])),
  });
  return misfit === null
    ? pass("the fields beside the object say what the object says")
    : fail("field_mismatch", { field: misfit });
}
