/** Versions of an organization's rules: read, and put into the log with the statement that names them. */
import { desc, eq } from "drizzle-orm";
import type { Actor } from "#lib/api/http/principal";
import type { Executor } from "#lib/db/client";
import { ruleProposals, ruleSets } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import type { LogItem, LogItemKind, Placed } from "#lib/log/sequencer/item";
import { sealStatement } from "#lib/log/sequencer/sign-statement";
import { submitSigned } from "#lib/log/sequencer/submit-signed";
import { hexEncode, sha256 } from "#lib/protocol/encoding/bytes";
import type { RulesFallback } from "#lib/protocol/policy/evaluate-rules";
import { rulesetHash } from "#lib/protocol/policy/rules-schema";
import { buildRulesetStatement, type RulesMode } from "#lib/protocol/policy/ruleset-statement";
import { recordAudit } from "#lib/services/accounts/audit";
import { lockOrganization } from "#lib/services/accounts/organizations";
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

/** Part of the newest version that the next one follows. */
type Newest = Pick<RulesVersion, "number" | "payload" | "fallback" | "second_owner">;

/** Says, under the organization's lock, what a change makes of the newest version, or throws if it may not follow that. */
type ChangeAfter = (tx: Executor, newest: Newest | null) => Promise<RulesChange>;

interface Version extends Newest {
  change: RulesChange;
  previous: string | null;
  changedAt: Date;
}

interface RulesetItem extends LogItem {
  context: RulesContext;
  organizationId: string;
  actor: Actor;
  confirmedBy: string | null;
  changeAfter: ChangeAfter;
  /** Under the organization's lock. */
  made: Version | null;
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

function makeVersion(item: RulesetItem, newest: Newest | null, change: RulesChange): Version {
  const { context, organizationId, keyId } = item;
  const changedAt = context.clock();
  const number = (newest?.number ?? 0) + 1;
  const previous = newest === null ? null : hexEncode(sha256(newest.payload));
  const { mode, fallback, secondOwner: second_owner } = change;
  const payload = buildRulesetStatement({
    organization: organizationId,
    number,
    previous,
    ruleset_hash: rulesetHash(change.text),
    mode,
    fallback,
    changed_at: changedAt.toISOString(),
    key_id: keyId,
  });
  return { change, number, previous, payload, fallback, second_owner, changedAt };
}

function requireMade({ made }: RulesetItem): Version {
  if (made === null) throw new Error("a version is sealed before it is made");
  return made;
}

/** Changes of one organization in one batch follow each other. */
async function admit(tx: Executor, items: RulesetItem[]): Promise<(AppError | null)[]> {
  const verdicts: (AppError | null)[] = [];
  const made = new Map<string, Version>();
  for (const item of items) {
    const { organizationId } = item;
    await lockOrganization(tx, organizationId);
    const newest = made.get(organizationId) ?? (await readNewest(tx, organizationId));
    try {
      item.made = makeVersion(item, newest, await item.changeAfter(tx, newest));
      made.set(organizationId, item.made);
      verdicts.push(null);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      verdicts.push(error);
    }
  }
  return verdicts;
}

async function store(tx: Executor, placed: Placed<RulesetItem>[]): Promise<void> {
  for (const { item, logId, receipt, sealed } of placed) {
    const { organizationId } = item;
    const { change, number, previous, changedAt } = requireMade(item);
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
      previous,
      payload: sealed.payload,
      signature: sealed.signature,
      envelope_signature: sealed.envelopeSignature,
      signed_by: item.keyId,
      log_id: logId,
      leaf_index: receipt.index,
      created_at: changedAt,
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

/** The change as the next version, signed and logged. Answers its number. */
export async function storeVersion(
  context: RulesContext,
  organizationId: string,
  given: Pick<RulesetItem, "actor" | "confirmedBy">,
  changeAfter: ChangeAfter,
): Promise<number> {
  const { item } = await submitSigned(context, rulesetKind, async () => {
    const { signer } = context.keys;
    const made: RulesetItem = {
      ...given,
      context,
      organizationId,
      changeAfter,
      made: null,
      keyId: signer.keyId,
      seal: () => sealStatement(signer, requireMade(made).payload),
    };
    return made;
  });
  return requireMade(item).number;
}
