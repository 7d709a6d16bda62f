/** Refuses a text that can't be rules, with every problem at its line and column. */
import { and, eq, inArray } from "drizzle-orm";
import type { RulesWarning } from "#lib/api/schemas/rules";
import type { Executor } from "#lib/db/client";
import { agents } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { positionAt } from "#lib/protocol/policy/cedar";
import type { ParsedPolicy } from "#lib/protocol/policy/evaluate-rules";
import type { ParsedRules, RulesProblem } from "#lib/protocol/policy/parse-rules";
import { formatCount } from "#lib/protocol/text/display-text";
import { findGroupIds } from "#lib/services/accounts/approver-groups";
import { readEnrolledMembers } from "#lib/services/accounts/roster-proofs";
import { slugKey } from "#lib/services/agents/agents";
import { namedAgents } from "./describe-request";
import type { RulesContext } from "./engine";

const describe = ({ line, column, message, help }: RulesProblem) =>
  `line ${line}, column ${column}: ${message}${help === null ? "" : ` (${help})`}`;

const createGroup = "an owner can create it in the portal, under Approvers";

/** An unknown group would ask no one. */
async function findUnknownGroups(
  executor: Executor,
  organizationId: string,
  { policies }: ParsedRules,
): Promise<RulesProblem[]> {
  const named = policies.flatMap(({ annotations: { group } }) => (typeof group === "string" ? [group] : []));
  const known = await findGroupIds(executor, organizationId, named);
  return policies.flatMap(({ annotations: { group }, position }) =>
    typeof group === "string" && !known.has(group)
      ? [{ ...position, message: `no group of your approvers is called "${group}"`, help: createGroup }]
      : [],
  );
}

/** Requests that such a rule applies to would all be denied. */
const findLevels = ({ settings }: RulesContext, { policies }: ParsedRules): RulesProblem[] =>
  policies.flatMap(({ annotations: { level }, position }) =>
    settings.worldId === "none" && typeof level === "string" && level !== "none"
      ? [
          {
            ...position,
            message: `@level("${level}") asks for World ID, which this service doesn't have`,
            help: "leave it out: enrolled approvers decide with passkeys",
          },
        ]
      : [],
  );

async function findMisspeltAgents(
  executor: Executor,
  organizationId: string,
  text: string,
): Promise<RulesProblem[]> {
  const named = namedAgents(text);
  if (named.length === 0) return [];
  const keys = [...new Set(named.map(({ name }) => slugKey(name)))];
  const rows = await executor
    .select({ key: agents.slug_key, slug: agents.slug })
    .from(agents)
    .where(and(eq(agents.organization_id, organizationId), inArray(agents.slug_key, keys)));
  const slugs = new Map(rows.map(({ key, slug }) => [key, slug]));
  return named.flatMap(({ name, index }) => {
    const slug = slugs.get(slugKey(name)) ?? name;
    if (slug === name) return [];
    const message = `no agent is called "${name}": yours is registered as "${slug}"`;
    return [{ ...positionAt(text, index), message, help: null }];
  });
}

export async function findProblems(
  context: RulesContext,
  organizationId: string,
  text: string,
): Promise<RulesProblem[]> {
  const answer = await context.rules.parse(text, organizationId);
  if (!answer.ok) return answer.problems;
  const { db } = context.database;
  return [
    ...answer.rules.policies.flatMap(({ refusals, position }) =>
      refusals.map((message) => ({ ...position, message, help: null })),
    ),
    ...findLevels(context, answer.rules),
    ...(await findUnknownGroups(db, organizationId, answer.rules)),
    ...(await findMisspeltAgents(db, organizationId, text)),
  ];
}

/** Requests that such a rule applies to are all refused, until more people of the group have a passkey. */
async function findSmallGroups(
  executor: Executor,
  organizationId: string,
  policies: readonly ParsedPolicy[],
): Promise<RulesWarning[]> {
  const demands = policies.flatMap(({ id, annotations: { group, approvals }, position }) =>
    typeof group === "string" ? [{ id, group, count: Number(approvals ?? 1), position }] : [],
  );
  const named = demands.map(({ group }) => group);
  const ids = await findGroupIds(executor, organizationId, named);
  const people = [...(await readEnrolledMembers(executor, [...ids.values()])).values()];
  return demands.flatMap(({ id, group, count, position }) => {
    const enrolled = people.filter((groups) => groups.includes(ids.get(group) ?? "")).length;
    if (enrolled >= count) return [];
    const has = `asks for ${count} of "${group}", which has ${formatCount(enrolled, "enrolled approver")}`;
    return [{ ...position, message: `${id}: ${has}. Requests that it applies to are refused` }];
  });
}

export async function findWarnings(
  context: RulesContext,
  organizationId: string,
  text: string,
): Promise<RulesWarning[]> {
  const answer = await context.rules.parse(text, organizationId);
  return answer.ok ? listWarnings(context, organizationId, answer.rules.policies) : [];
}

export const listWarnings = async (
  { database: { db } }: RulesContext,
  organizationId: string,
  policies: readonly ParsedPolicy[],
): Promise<RulesWarning[]> => [
  ...policies.flatMap(({ id, position, warnings }) =>
    warnings.map((message) => ({ ...position, message: `${id}: ${message}` })),
  ),
  ...(await findSmallGroups(db, organizationId, policies)),
];

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
