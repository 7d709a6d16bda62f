/** Rules that an organization's decisions suggest (lib/protocol/policy/suggest.ts), from the database to a proposal. */
import { sql } from "drizzle-orm";
import type { MemberPrincipal } from "#lib/api/http/context";
import type { ShownSuggestion } from "#lib/api/schemas/portal";
import { type Executor, queryRows } from "#lib/db/client";
import { AppError } from "#lib/errors";
import { createShare } from "#lib/jobs/fair-queue";
import type { ZkPool } from "#lib/jobs/zk-worker-pool";
import { base64Encode, utf8Encode } from "#lib/protocol/encoding/bytes";
import {
  type Derivation,
  type PastRequest,
  type Suggestion,
  type SuggestOptions,
  suggestDefaults,
  suggestStanding,
} from "#lib/protocol/policy/suggest";
import { dayMs } from "#lib/protocol/time/time-words";
import { requireRole } from "#lib/services/accounts/members";
import { findProblems } from "./check";
import { type PastRow, readPast } from "./describe-request";
import type { RulesContext } from "./engine";
import { readNewest, readProposal, saveRules } from "./versions";

export interface SuggestionsContext extends RulesContext {
  pool: ZkPool;
}

const suggestionDays = 90;
const maxDecisions = 100_000;

/** Decisions of the last 90 days, or the newest of them: then `from` is later, so that all of the window are here. */
export async function readDecisions(context: RulesContext, organizationId: string, most = maxDecisions) {
  const to = context.clock();
  let from = new Date(to.getTime() - suggestionDays * dayMs);
  const known = new Map<string, PastRow>();
  const pages: Uint8Array[] = [];
  for await (const rows of readPast(context, organizationId, { from, to })) {
    const taken = rows.slice(0, most - known.size);
    for (const row of taken) known.set(row.hash, row);
    pages.push(utf8Encode(`[${taken.map(({ past }) => past).join(",")}]`));
    const last = taken.at(-1);
    if (known.size < most || last === undefined) continue;
    // Others of its millisecond may be left out.
    from = new Date(Date.parse(last.created_at) + 1);
    break;
  }
  return { from, to, known, pages };
}

interface Found {
  /** Start of the period of which every decision was looked at. */
  from: Date;
  to: Date;
  decisions: number;
  suggestions: ShownSuggestion[];
}

/** Off the request thread, but for reading. */
async function findSuggestions(
  context: SuggestionsContext,
  organizationId: string,
  options: SuggestOptions,
): Promise<Found> {
  const { from, to, known, pages } = await readDecisions(context, organizationId);
  const share = createShare("other", { organization: organizationId });
  const found = await context.pool.run("suggestRules", { pages, options }, share);
  const suggestions: ShownSuggestion[] = [];
  for (const suggestion of found) {
    // Cedar refuses some signs.
    if ((await findProblems(context, organizationId, suggestion.text)).length > 0) continue;
    const rows = suggestion.covers.flatMap((hash) => known.get(hash) ?? []);
    const times = rows.map(({ created_at }) => Date.parse(created_at));
    const weeks = Math.max(1, (to.getTime() - Math.min(...times)) / (7 * dayMs));
    suggestions.push({
      ...suggestion,
      requests: rows
        .map(({ id, created_at }) => ({ id, created_at }))
        .sort((a, b) => (a.created_at < b.created_at ? 1 : -1)),
      questionsPerWeek: rows.length / weeks,
      waitedMinutes: rows.reduce((sum, { waited }) => sum + waited, 0) / 60,
      standing: suggestStanding(
        suggestion.bounds,
        to.toISOString(),
        rows.map(({ past }) => JSON.parse(past) as PastRequest),
      ),
    });
  }
  return { from, to, decisions: known.size, suggestions };
}

/** Policy ids of suggestions whose standing approval waits or is in force. */
async function listStanding(executor: Executor, organizationId: string): Promise<Set<string>> {
  const rows = await queryRows<{ id: string }>(
    executor,
    sql`SELECT r.derivation::json ->> 'policy_id' AS id
      FROM authorization_requests AS r LEFT JOIN grants AS g ON g.request_id = r.id
      WHERE r.organization_id = ${organizationId} AND r.derivation IS NOT NULL AND r.revoked_at IS NULL
        AND ((r.status = 'pending' AND r.expires_at > clock_timestamp()) OR g.expires_at > clock_timestamp())`,
  );
  return new Set(rows.map(({ id }) => id));
}

/** Lists those that the rules don't have already. */
export async function listSuggestions(
  context: SuggestionsContext,
  person: MemberPrincipal,
  withMoney: boolean,
): Promise<Found> {
  await requireRole(context.database.db, person, "read");
  const found = await findSuggestions(context, person.organizationId, { ...suggestDefaults, withMoney });
  const newest = await readNewest(context.database.db, person.organizationId);
  const standing = await listStanding(context.database.db, person.organizationId);
  const isNew = ({ policyId }: Suggestion) => newest?.text.includes(`@id("${policyId}")`) !== true;
  const suggestions = found.suggestions
    .filter(isNew)
    .map((one) => (standing.has(one.policyId) ? { ...one, standing: null } : one));
  return { ...found, suggestions };
}

export interface ChosenSuggestion {
  policyId: string;
  withMoney: boolean;
}

/** Derives it if it is still suggested, with what it rests on. */
export async function deriveSuggestion(
  context: SuggestionsContext,
  person: MemberPrincipal,
  { policyId, withMoney }: ChosenSuggestion,
): Promise<{ chosen: ShownSuggestion; derivation: Derivation }> {
  await requireRole(context.database.db, person, "rules");
  const { from, to, suggestions } = await listSuggestions(context, person, withMoney);
  const chosen = suggestions.find((one) => one.policyId === policyId);
  if (chosen === undefined)
    throw new AppError("rules_changed", "this is no longer suggested: reload the page");
  const derivation: Derivation = {
    version: 1,
    policy_id: policyId,
    bounds: chosen.bounds,
    from: from.toISOString(),
    to: to.toISOString(),
    approvals: suggestDefaults.approvals,
    days: suggestDefaults.days,
    requests: chosen.covers,
    salt: base64Encode(context.random(16)),
  };
  return { chosen, derivation };
}

/**
 * Adds the rule to the newest version as it was suggested, with its derivation. True if it counts at once; where the
 * organization has another owner, that one confirms it with a passkey.
 */
export async function proposeSuggestion(
  context: SuggestionsContext,
  person: MemberPrincipal,
  suggestion: ChosenSuggestion,
): Promise<boolean> {
  const { chosen, derivation } = await deriveSuggestion(context, person, suggestion);
  const { db } = context.database;
  if ((await readProposal(db, person.organizationId)) !== null)
    throw new AppError("rules_changed", "a change of the rules waits: confirm or drop it first");
  const newest = await readNewest(db, person.organizationId);
  const change = {
    text: newest === null || newest.text === "" ? chosen.text : `${newest.text.trimEnd()}\n\n${chosen.text}`,
    mode: newest?.mode ?? "enforce",
    version: newest?.number ?? 0,
  };
  return saveRules(context, person, change, derivation);
}
