/** Refuses a text that can't be rules, with every problem at its line and column. */
import { and, eq, inArray, isNull } from "drizzle-orm";
import type { ParsedRules, RulesProblem } from "#lib/core/rules/parse-rules";
import type { Executor } from "#lib/db/client";
import { approvers } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import type { RulesContext } from "./context";

const describe = ({ line, column, message, help }: RulesProblem) =>
  `line ${line}, column ${column}: ${message}${help === null ? "" : ` (${help})`}`;

/** An unknown group would ask no one. */
async function findUnknownGroups(
  executor: Executor,
  organizationId: string,
  { policies }: ParsedRules,
): Promise<RulesProblem[]> {
  const named = policies.flatMap(({ annotations: { group } }) => (typeof group === "string" ? [group] : []));
  if (named.length === 0) return [];
  const rows = await executor
    .select({ name: approvers.name })
    .from(approvers)
    .where(
      and(
        eq(approvers.organization_id, organizationId),
        isNull(approvers.email),
        inArray(approvers.name, [...new Set(named)]),
      ),
    );
  const known = new Set(rows.map(({ name }) => name));
  return policies.flatMap(({ annotations: { group }, position }) =>
    typeof group === "string" && !known.has(group)
      ? [{ ...position, message: `no group of your approvers is called "${group}"`, help: null }]
      : [],
  );
}

export async function findProblems(
  context: RulesContext,
  organizationId: string,
  text: string,
): Promise<RulesProblem[]> {
  const answer = context.rules.parse(text);
  if (!answer.ok) return answer.problems;
  return findUnknownGroups(context.database.db, organizationId, answer.rules);
}

export async function requireRules(
  context: RulesContext,
  organizationId: string,
  text: string,
): Promise<void> {
  const problems = await findProblems(context, organizationId, text);
  const [first] = problems;
  if (first === undefined) return;
  throw new AppError("validation_error", `text: ${describe(first)}`, {
    errors: problems.map((problem) => ({ pointer: "/text", message: describe(problem) })),
  });
}
