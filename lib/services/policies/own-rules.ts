/** Rules in the portal: members read them, owners change them. */

import type { MemberPrincipal } from "#lib/api/http/principal";
import type { PutRulesBody, RulesResponse, SimulateBody, SimulateResponse } from "#lib/api/schemas/rules";
import type { RulesProblem } from "#lib/protocol/policy/parse-rules";
import { requireRole } from "#lib/services/accounts/members";
import { findProblems } from "./check";
import type { RulesContext } from "./context";
import { readRules } from "./read";
import { saveRules } from "./save";
import { simulateRules } from "./simulate";

/** `number`: another version than the newest. */
export async function readOwnRules(
  context: RulesContext,
  person: MemberPrincipal,
  number?: number,
): Promise<RulesResponse> {
  const { db } = context.database;
  await requireRole(db, person, "member");
  return readRules(db, person.organizationId, number);
}

/** Finds the text's problems before it is compared or saved. */
export async function findOwnProblems(
  context: RulesContext,
  person: MemberPrincipal,
  text: string,
): Promise<RulesProblem[]> {
  await requireRole(context.database.db, person, "owner");
  return findProblems(context, person.organizationId, text);
}

export async function simulateOwnRules(
  context: RulesContext,
  person: MemberPrincipal,
  body: SimulateBody,
): Promise<SimulateResponse> {
  await requireRole(context.database.db, person, "owner");
  return simulateRules(context, person.organizationId, body);
}

/** True if it counts at once. */
export async function saveOwnRules(
  context: RulesContext,
  person: MemberPrincipal,
  body: PutRulesBody,
): Promise<boolean> {
  await requireRole(context.database.db, person, "owner");
  return saveRules(context, person, body);
}
