/**
 * Review of what nobody was asked about: a sample of the uses that rules or standing approvals allowed is put before a person
 * afterwards. It stops nothing; the verdict is in the audit log, and suggestions of rules learn from it.
 */
import { eq, type SQL, sql } from "drizzle-orm";
import type { MemberPrincipal } from "#lib/api/http/context";
import type { ReviewedUse, ReviewRates, ReviewVerdict } from "#lib/api/schemas/portal";
import { type Executor, queryRows } from "#lib/db/client";
import { organizations, useReviews } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import type { ApprovalRequest } from "#lib/protocol/approval/approval";
import { base64Encode, utf8Decode } from "#lib/protocol/encoding/bytes";
import { deriveTitle } from "#lib/protocol/record/title";
import { recordAct } from "#lib/services/accounts/audit";
import { holdRole, requireRole } from "#lib/services/accounts/members";
import type { RulesContext } from "./engine";
import { readNewest } from "./versions";

export const reviewDays = 30;
const maxListed = 100;

/** `salt`: base64, which the service keeps to itself. */
type StoredRates = ReviewRates & { salt: string };

const noRates: StoredRates = { standing: 0, rules: {}, salt: "" };

async function readRates(executor: Executor, organizationId: string): Promise<StoredRates> {
  const [row] = await executor
    .select({ rates: organizations.review_rates })
    .from(organizations)
    .where(eq(organizations.id, organizationId));
  return row?.rates == null ? noRates : (JSON.parse(row.rates) as StoredRates);
}

/** Rates of the rules there are now, each in percent; the others are 0. */
export async function listReviewRates(context: RulesContext, person: MemberPrincipal): Promise<ReviewRates> {
  const { db } = context.database;
  await requireRole(db, person, "read");
  const { standing, rules } = await readRates(db, person.organizationId);
  const text = (await readNewest(db, person.organizationId))?.text ?? "";
  const parsed = await context.rules.parse(text, person.organizationId);
  const ids = parsed.ok ? parsed.rules.policies.map(({ id }) => id) : [];
  return { standing, rules: Object.fromEntries(ids.map((id) => [id, rules[id] ?? 0])) };
}

export async function setReviewRates(
  context: RulesContext,
  person: MemberPrincipal,
  rates: ReviewRates,
): Promise<void> {
  const { organizationId } = person;
  await context.database.db.transaction(async (tx) => {
    await holdRole(tx, person, "rules");
    const { salt } = await readRates(tx, organizationId);
    const stored: StoredRates = { ...rates, salt: salt || base64Encode(context.random(16)) };
    await tx
      .update(organizations)
      .set({ review_rates: JSON.stringify(stored) })
      .where(eq(organizations.id, organizationId));
    await recordAct(context, tx, person, {
      action: "reviews.rates",
      subject: organizationId,
      detail: { standing: rates.standing, ...rates.rules },
    });
  });
}

/** The percent at which a use is sampled: of standing approvals, or the highest of the rules that decided. */
const sampleRate = (
  rates: ReviewRates,
) => sql`CASE r.decided_by::json ->> 'kind' WHEN 'grant' THEN ${rates.standing}::float8
  ELSE coalesce((SELECT max((${JSON.stringify(rates.rules)}::json ->> policy.id)::float8)
    FROM json_array_elements_text(r.decided_by::json -> 'policy_ids') AS policy(id)), 0) END`;

/**
 * Samples by the request's hash and the organization's salt: an agent knows the hash before it acts, and would ask again until
 * its use is in no sample. `percent`: 0 to 100.
 */
export const isWithinRate = (percent: SQL, salt: string) =>
  sql`('x' || left(encode(sha256(decode(${salt}, 'base64') || r.request_hash), 'hex'), 4))::bit(16)::int < ${percent} * 655.36`;

const uses = (organizationId: string) => sql`authorization_requests AS r
  WHERE r.organization_id = ${organizationId} AND r.status = 'approved'
    AND r.decided_by::json ->> 'kind' IN ('rule', 'grant')
    AND r.decided_at > clock_timestamp() - make_interval(days => ${reviewDays})
    AND NOT EXISTS (SELECT FROM use_reviews WHERE use_reviews.request_id = r.id)`;

interface Row {
  id: string;
  request: Uint8Array;
  context: string | null;
  decided_at: string;
  decided_by: string;
}

/** Lists those of the sample that nobody has looked at, the newest first. */
export async function listUnreviewed(context: RulesContext, person: MemberPrincipal): Promise<ReviewedUse[]> {
  const { db } = context.database;
  await requireRole(db, person, "read");
  const rates = await readRates(db, person.organizationId);
  const rows = await queryRows<Row>(
    db,
    sql`SELECT r.id, r.request, r.context, r.decided_at::text, r.decided_by FROM ${uses(person.organizationId)}
      AND ${isWithinRate(sampleRate(rates), rates.salt)} ORDER BY r.decided_at DESC, r.id LIMIT ${maxListed}`,
  );
  return rows.map(({ id, request, context: shown, decided_at, decided_by }) => {
    const {
      agent_slug,
      action,
      tool = null,
    } = JSON.parse(utf8Decode(new Uint8Array(request))) as ApprovalRequest;
    const { kind, policy_ids } = JSON.parse(decided_by) as { kind: string; policy_ids?: string[] };
    return {
      request_id: id,
      agent_slug,
      title: deriveTitle({ action, tool, context: shown === null ? null : JSON.parse(shown) }),
      decided_at: new Date(decided_at).toISOString(),
      policy_ids: kind === "rule" ? (policy_ids ?? []) : [],
    };
  });
}

/** Stores a verdict; the first counts. */
export async function reviewUse(
  context: RulesContext,
  person: MemberPrincipal,
  requestId: string,
  verdict: ReviewVerdict,
): Promise<void> {
  const { organizationId } = person;
  await context.database.db.transaction(async (tx) => {
    await holdRole(tx, person, "stop");
    const rates = await readRates(tx, organizationId);
    const found = await queryRows(
      tx,
      sql`SELECT 1 FROM ${uses(organizationId)} AND r.id = ${requestId} AND ${isWithinRate(sampleRate(rates), rates.salt)}`,
    );
    if (found.length === 0)
      throw new AppError("not_found", "this use isn't in the sample, or somebody has reviewed it");
    await tx.insert(useReviews).values({
      request_id: requestId,
      organization_id: organizationId,
      verdict,
      reviewed_by: person.email,
      created_at: context.clock(),
    });
    await recordAct(context, tx, person, {
      action: "reviews.reviewed",
      subject: requestId,
      detail: { verdict },
    });
  });
}
