/** "What would this have changed?": an organization's last requests, evaluated with other rules. Nothing is stored. */
import { sql } from "drizzle-orm";
import type { SimulateBody, SimulateResponse } from "#lib/api/schemas/rules";
import { queryRows } from "#lib/db/client";
import { createFairQueue, createShare } from "#lib/jobs/fair-queue";
import type { ApprovalRequest } from "#lib/protocol/approval/approval";
import { saysComplete } from "#lib/protocol/approval/grant";
import { utf8Decode } from "#lib/protocol/encoding/bytes";
import { meetsObligations, type RuleOutcome, type RulesVerdict } from "#lib/protocol/policy/evaluate-rules";
import { rulesetHash } from "#lib/protocol/policy/rule-context";
import { findGroupIds } from "#lib/services/accounts/approver-groups";
import { listWarnings, requireRules } from "./check";
import { describeStored, type StoredFacts, storedFacts, usageThen } from "./describe-request";
import type { RulesContext } from "./engine";
import { readNewest } from "./versions";

const maxRequests = 1000;
/** Requests that are read and evaluated before others get their turn; each may have 35 kB. */
const turn = 16;

/** Fair queue, since each holds a thousand requests in memory. */
const queue = createFairQueue({
  slots: 2,
  maxWaiting: 64,
  maxPerOwner: 4,
  maxRunningPerOwner: 1,
  refusal: "too many comparisons of rules are under way; try again",
});

interface Row extends StoredFacts {
  id: string;
  status: string;
  decided_kind: string | null;
}

type Judged = "allowed" | "asked" | "denied";

const outcomes: Record<RuleOutcome["decision"], Judged> = { allow: "allowed", ask: "asked", deny: "denied" };

/** Judgement without people: by a rule or a standing approval. */
function judgedThen({ status, decided_kind }: Row): Judged {
  if (decided_kind === "rule" && status === "denied") return "denied";
  return decided_kind === "rule" || decided_kind === "grant" ? "allowed" : "asked";
}

async function readLast(context: RulesContext, organizationId: string): Promise<Row[]> {
  return queryRows<Row>(
    context.database.db,
    sql`SELECT ${storedFacts}, r.id, r.status, r.decided_by::jsonb ->> 'kind' AS decided_kind
      FROM (SELECT * FROM authorization_requests WHERE organization_id = ${organizationId}
        ORDER BY created_at DESC, id DESC LIMIT ${maxRequests}) AS r
      JOIN agents AS a ON a.id = r.agent_id
      CROSS JOIN LATERAL (${usageThen}) AS usage
      ORDER BY r.created_at DESC, r.id DESC`,
  );
}

const nothing = () => ({ allowed: 0, asked: 0, denied: 0 });

/** Any standing approval was given by as many. */
const asksNoMore = ({ obligations }: RuleOutcome) =>
  obligations === null ||
  (obligations.approvals === 1 && obligations.level === null && obligations.groups.length === 0);

/**
 * A standing approval is people's to give, whatever rules would allow. What one covered it still covers, unless rules
 * deny it or ask for more than one person.
 */
function wouldBe(outcome: RulesVerdict, request: ApprovalRequest, { decided_kind }: Row): Judged {
  const { decision, forbidsDetails } = outcome;
  if (decision !== "deny" && forbidsDetails && !saysComplete(request)) return "asked";
  if (decision === "ask" && decided_kind === "grant" && asksNoMore(outcome)) return "allowed";
  return decision === "allow" && request.grant ? "asked" : outcomes[decision];
}

export async function simulateRules(
  context: RulesContext,
  organizationId: string,
  { text, fallback }: SimulateBody,
): Promise<SimulateResponse> {
  await requireRules(context, organizationId, text);
  const share = createShare("other", { organization: organizationId });
  return queue.run(share, () => compare(context, organizationId, text, fallback));
}

async function compare(
  context: RulesContext,
  organizationId: string,
  text: string,
  fallback: SimulateBody["fallback"],
): Promise<SimulateResponse> {
  const rules = { organizationId, hash: rulesetHash(text), text };
  const chosen = fallback ?? (await readNewest(context.database.db, organizationId))?.fallback ?? "ask";
  const parsed = await context.rules.parse(text, organizationId);
  const policies = parsed.ok ? parsed.rules.policies : [];
  const named = policies.flatMap(({ annotations: { group } }) => group ?? []);
  const groupIds = await findGroupIds(context.database.db, organizationId, named);
  const rows = await readLast(context, organizationId);
  const answer = { was: nothing(), would: nothing(), differences: [] as SimulateResponse["differences"] };
  const used = new Set<string>();
  const known = rows.filter((row) => row.context !== null);
  for (let from = 0; from < known.length; from += turn) {
    const taken = known
      .slice(from, from + turn)
      .map((row) => ({ row, request: JSON.parse(utf8Decode(row.request)) as ApprovalRequest }));
    const contexts = taken.map(({ row }) => describeStored(row, text, context.worldId.environment));
    const evaluated = await context.rules.compare(rules, contexts, chosen);
    for (const [i, { row, request }] of taken.entries()) {
      const outcome = evaluated[i];
      if (outcome === undefined) throw new TypeError("a request without an outcome");
      const [was, would] = [judgedThen(row), wouldBe(outcome, request, row)];
      answer.was[was] += 1;
      answer.would[would] += 1;
      for (const id of outcome.policy_ids) used.add(id);
      const asksMore =
        was === "asked" &&
        would === "asked" &&
        outcome.obligations !== null &&
        !meetsObligations(request, outcome.obligations, (name) => groupIds.get(name) ?? "");
      if (was !== would || asksMore)
        answer.differences.push(describeDifference(row, request, { was, would }, outcome));
    }
  }
  return {
    requests: known.length,
    erased: rows.length - known.length,
    ...answer,
    unused: policies.map(({ id }) => id).filter((id) => !used.has(id)),
    warnings: await listWarnings(context, organizationId, policies),
  };
}

function describeDifference(
  row: Row,
  { agent_slug, tool, action, amount, created_at }: ApprovalRequest,
  judged: { was: Judged; would: Judged },
  { policy_ids, reason, obligations }: RuleOutcome,
): SimulateResponse["differences"][number] {
  return {
    request_id: row.id,
    created_at,
    agent_slug,
    tool: tool ?? null,
    action,
    amount: amount ?? null,
    ...judged,
    policy_ids,
    reason,
    demands: obligations,
  };
}
