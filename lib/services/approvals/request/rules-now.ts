/**
 * Evaluates an organization's current rules on a request that earlier rules, or none, have judged. The facts are those
 * of the request when it was made, so only a change of the rules can change the answer. Whoever uses the answer
 * compares `version` with the newest in the transaction of the use: rules that are saved before it always win.
 */
import { sql } from "drizzle-orm";
import { type Executor, queryRows } from "#lib/db/client";
import { AppError } from "#lib/errors";
import type { ApprovalRequest } from "#lib/protocol/approval/approval";
import { saysComplete } from "#lib/protocol/approval/grant";
import { utf8Decode } from "#lib/protocol/encoding/bytes";
import { meetsObligations, type RuleOutcome, type RulesVerdict } from "#lib/protocol/policy/evaluate-rules";
import { findGroupIds } from "#lib/services/accounts/approver-groups";
import type { Context } from "#lib/services/approvals/context";
import {
  describeStored,
  type StoredFacts,
  storedFacts,
  usageThen,
} from "#lib/services/policies/describe-request";
import type { RulesVersion } from "#lib/services/policies/versions";
import { isTooMuch } from "./evaluate-policy";

export interface RuleStop {
  reason: "rule_forbids" | "rule_demands_more";
  words: string;
}

export interface RulesNow {
  version: number;
  stop: RuleStop | null;
}

/** Rules were saved after the request was judged: judge it again. */
export class RulesMoved extends AppError {
  constructor() {
    super("service_unavailable", "the rules were changed at the same moment; try again");
  }
}

const newest = sql.raw(`coalesce((SELECT max(number) FROM rule_sets
  WHERE rule_sets.organization_id = authorization_requests.organization_id), 0)`);

/** Columns of a select from `authorization_requests`. A version judges a request the same every time. */
export const rulesSeen = {
  rulesVersion: sql<number>`${newest}`,
  /** Rules are enforced that have not judged the request. */
  areRulesNewer: sql<boolean>`EXISTS (SELECT FROM rule_sets
    WHERE rule_sets.organization_id = authorization_requests.organization_id AND rule_sets.number = ${newest}
      AND rule_sets.mode = 'enforce'
      AND rule_sets.number IS DISTINCT FROM (authorization_requests.rule_outcome::jsonb ->> 'version')::int)`,
};

interface RulesSeen {
  rulesVersion: number;
  areRulesNewer: boolean;
}

type Rules = Pick<RulesVersion, "number" | "text" | "hash" | "mode" | "fallback">;

interface Row extends StoredFacts, Rules {
  organization_id: string;
  decided_kind: string | null;
  /** The request of the standing approval that it is a use of. */
  granted: Uint8Array | null;
}

async function look(executor: Executor, requestId: string): Promise<RulesSeen> {
  const [row] = await queryRows<RulesSeen>(
    executor,
    sql`SELECT ${rulesSeen.rulesVersion} AS "rulesVersion", ${rulesSeen.areRulesNewer} AS "areRulesNewer"
      FROM authorization_requests WHERE id = ${requestId}`,
  );
  if (row === undefined) throw new Error("a request is gone");
  return row;
}

async function readRow(executor: Executor, requestId: string): Promise<Row> {
  const [row] = await queryRows<Row>(
    executor,
    sql`SELECT ${storedFacts}, r.organization_id, r.decided_by::jsonb ->> 'kind' AS decided_kind,
        given.request AS granted, rules.number, rules.text, rules.hash, rules.mode, rules.fallback
      FROM authorization_requests AS r
      JOIN agents AS a ON a.id = r.agent_id
      CROSS JOIN LATERAL (SELECT * FROM rule_sets WHERE organization_id = r.organization_id
        ORDER BY number DESC LIMIT 1) AS rules
      CROSS JOIN LATERAL (${usageThen}) AS usage
      LEFT JOIN authorization_requests AS given ON given.id = r.grant_id
      WHERE r.id = ${requestId}`,
  );
  if (row === undefined) throw new Error("a request or its rules are gone");
  return row;
}

const forbids = (words: string): RuleStop => ({ reason: "rule_forbids", words });
const demandsMore = (words: string): RuleStop => ({ reason: "rule_demands_more", words });

function describeDenial({ reason, policy_ids, error }: RuleOutcome): string {
  const names = policy_ids.join(", ");
  if (reason === "nothing_permits") return "no rule of the organization permits this now";
  return reason === "evaluation_error"
    ? `a rule of the organization can't be evaluated for this now${names === "" ? "" : ` (${names})`}: ${error}`
    : `the organization's rules forbid this now: ${names}`;
}

const parse = (request: Uint8Array) => JSON.parse(utf8Decode(new Uint8Array(request))) as ApprovalRequest;

async function findStop(executor: Executor, row: Row, outcome: RulesVerdict): Promise<RuleStop | null> {
  const { decision, obligations, policy_ids, forbidsDetails } = outcome;
  if (decision === "deny") return forbids(describeDenial(outcome));
  const isUnasked = row.decided_kind === "rule" || row.decided_kind === "grant";
  if (isUnasked && forbidsDetails && !saysComplete(parse(row.request)))
    return demandsMore("a rule forbids something about details now, and this doesn't show all of them");
  if (decision === "allow") return null;
  const names = policy_ids.length === 0 ? "" : `: ${policy_ids.join(", ")}`;
  if (row.decided_kind === "rule")
    return demandsMore(`the organization's rules ask people about this now${names}`);
  if (obligations === null) return null;
  const groups = obligations.groups.map(({ group }) => group);
  const ids = await findGroupIds(executor, row.organization_id, groups);
  const gone = groups.find((name) => !ids.has(name));
  if (gone !== undefined) return forbids(`a rule asks for the group "${gone}" now, which is gone${names}`);
  if (isTooMuch(obligations.groups)) return forbids(`rules ask for more people than a request can${names}`);
  const given = parse(row.granted ?? row.request);
  return meetsObligations(given, obligations, (name) => ids.get(name) ?? "")
    ? null
    : demandsMore(`the organization's rules ask for more approval than this has${names}`);
}

/** `seen`: what a read of the request has told already. */
export async function judgeByRulesNow(
  context: Context,
  requestId: string,
  seen?: RulesSeen,
): Promise<RulesNow> {
  const { db } = context.database;
  const { rulesVersion, areRulesNewer } = seen ?? (await look(db, requestId));
  if (!areRulesNewer) return { version: rulesVersion, stop: null };
  const row = await readRow(db, requestId);
  const version = row.number;
  if (row.mode !== "enforce") return { version, stop: null };
  if (row.context === null)
    return { version, stop: forbids("its content was erased, so the rules of now can't be asked about it") };
  const facts = describeStored(row, row.text, context.worldId.environment);
  const rules = { organizationId: row.organization_id, text: row.text, hash: row.hash };
  const outcome = await context.rules.evaluate(rules, facts, row.fallback);
  return { version, stop: await findStop(db, row, outcome) };
}

/** True if no rules were saved since; certain under the log head's or the organization's lock. */
export async function areRulesStill(tx: Executor, requestId: string, version: number): Promise<boolean> {
  return (await look(tx, requestId)).rulesVersion === version;
}
