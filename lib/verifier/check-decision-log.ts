/**
 * The log entry beside a human_authorization: the decision's leaf, proven under a signed checkpoint. It is
 * outside the service's signature; that it is the leaf of this very approval is the check `logged_decision`.
 */
import { isJsonObject, type JsonObject } from "#lib/domain/canonical-json";
import { checkLogEntry } from "./check-log-entry";
import { readLogReceipt } from "./parse-receipt";
import type { VerifierCheck } from "./report";
import type { VerifierTrust } from "./trust";

export function checkDecisionLog(object: JsonObject, trust: VerifierTrust): VerifierCheck[] {
  const { log } = object;
  if (!isJsonObject(log)) {
    const detail = "no log entry stands beside this authorization";
    return [{ name: "decision_log", status: "not_applicable", detail }];
  }
  return checkLogEntry(readLogReceipt(log), trust).checks;
}
