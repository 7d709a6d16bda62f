/** Versions of an organization's rules: read, and put into the log with the statement that names them. */
import { and, desc, eq } from "drizzle-orm";
import { recordAudit } from "#lib/accounts/audit";
import { lockOrganization } from "#lib/accounts/organizations";
import { hexEncode, sha256 } from "#lib/core/encoding/bytes";
import type { RulesFallback } from "#lib/core/rules/evaluate-rules";
import { rulesetHash } from "#lib/core/rules/rules-schema";
import { buildRulesetStatement, type RulesMode } from "#lib/core/rules/ruleset-statement";
import type { Executor } from "#lib/db/client";
import { ruleProposals, ruleSets } from "#lib/db/schema";
import type { AppError } from "#lib/errors";
import type { Actor } from "#lib/http/principal";
import { type LogItem, type LogItemKind, type Placed, StaleInputs } from "#lib/log/sequencer/item";
import { sealStatement } from "#lib/log/sequencer/sign-statement";
import { submitSigned } from "#lib/log/sequencer/submit-signed";
import type { RulesContext } from "./context";

export type RulesVersion = typeof ruleSets.$inferSelect;

export interface RulesChange {
  text: string;
  mode: RulesMode;
  fallback: RulesFallback;
  secondOwner: boolean;
  authorEmail: string;
  authorKeyId: string | null;
}

interface RulesetItem extends LogItem {
  context: RulesContext;
  organizationId: string;
  actor: Actor;
  change: RulesChange;
  number: number;
  previous: string | null;
  confirmedBy: string | null;
  /** The proposal that this confirms. */
  proposalId: string | null;
  changedAt: Date;
}

export async function readNewest(executor: Executor, organizationId: string): Promise<RulesVersion | null> {
  const [row] = await executor
    .select()
    .from(ruleSets)
    .where(eq(ruleSets.organization_id, organizationId))
    .orderBy(desc(ruleSets.number))
    .limit(1);
  return row ?? null;
}

export async function readProposal(executor: Executor, organizationId: string) {
  const [row] = await executor
    .select()
    .from(ruleProposals)
    .where(eq(ruleProposals.organization_id, organizationId));
  return row ?? null;
}

const hasPlace = (row: RulesVersion | null, { number, previous }: Pick<RulesetItem, "number" | "previous">) =>
  (row?.number ?? 0) === number - 1 && (row === null ? null : hexEncode(sha256(row.payload))) === previous;

/** A change that waited is taken with the version that it becomes: confirmed once, and only as it was shown. */
async function takeProposal(tx: Executor, { organizationId, proposalId }: RulesetItem): Promise<boolean> {
  if (proposalId === null) return true;
  const taken = await tx
    .delete(ruleProposals)
    .where(and(eq(ruleProposals.organization_id, organizationId), eq(ruleProposals.id, proposalId)))
    .returning({ id: ruleProposals.id });
  return taken.length === 1;
}

async function admit(tx: Executor, items: RulesetItem[]): Promise<(AppError | null)[]> {
  const verdicts: (AppError | null)[] = [];
  const seen = new Set<string>();
  for (const item of items) {
    await lockOrganization(tx, item.organizationId);
    const isCurrent =
      !seen.has(item.organizationId) &&
      hasPlace(await readNewest(tx, item.organizationId), item) &&
      (await takeProposal(tx, item));
    seen.add(item.organizationId);
    verdicts.push(isCurrent ? null : new StaleInputs());
  }
  return verdicts;
}

async function store(tx: Executor, placed: Placed<RulesetItem>[]): Promise<void> {
  for (const { item, logId, receipt, sealed } of placed) {
    const { organizationId, change, number } = item;
    const hash = rulesetHash(change.text);
    await tx.insert(ruleSets).values({
      organization_id: organizationId,
      number,
      text: change.text,
      hash,
      mode: change.mode,
      fallback: change.fallback,
      second_owner: change.secondOwner,
      author_email: change.authorEmail,
      author_key_id: change.authorKeyId,
      confirmed_by: item.confirmedBy,
      previous: item.previous,
      payload: sealed.payload,
      signature: sealed.signature,
      envelope_signature: sealed.envelopeSignature,
      signed_by: item.keyId,
      log_id: logId,
      leaf_index: receipt.index,
      created_at: item.changedAt,
    });
    await recordAudit(item.context, tx, {
      organizationId,
      actor: item.actor,
      action: "rules.changed",
      subject: `version ${number}`,
      detail: { hash, mode: change.mode, fallback: change.fallback, author: change.authorEmail },
    });
  }
}

const rulesetKind: LogItemKind<RulesetItem> = { kind: "ruleset", locksOrganizations: true, admit, store };

/**
 * The change as the next version, signed and logged. `changeAfter` says what it makes of the version that it follows, or
 * throws if it may not follow that; it is asked again if another change came first.
 */
export async function storeVersion(
  context: RulesContext,
  organizationId: string,
  given: Pick<RulesetItem, "actor" | "confirmedBy" | "proposalId">,
  changeAfter: (newest: RulesVersion | null) => RulesChange,
): Promise<number> {
  const { item } = await submitSigned(context, rulesetKind, async () => {
    const newest = await readNewest(context.database.db, organizationId);
    const change = changeAfter(newest);
    const { signer } = context.keys;
    const changedAt = context.clock();
    const number = (newest?.number ?? 0) + 1;
    const previous = newest === null ? null : hexEncode(sha256(newest.payload));
    const payload = buildRulesetStatement({
      organization: organizationId,
      number,
      previous,
      ruleset_hash: rulesetHash(change.text),
      mode: change.mode,
      fallback: change.fallback,
      changed_at: changedAt.toISOString(),
      key_id: signer.keyId,
    });
    return {
      ...given,
      change,
      context,
      organizationId,
      number,
      previous,
      changedAt,
      keyId: signer.keyId,
      seal: () => sealStatement(signer, payload),
    };
  });
  return item.number;
}
