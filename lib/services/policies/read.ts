/** Rules as the API and the portal show them. */
import { and, desc, eq } from "drizzle-orm";
import type { MemberPrincipal } from "#lib/api/http/context";
import type { Handlers } from "#lib/api/http/pipeline";
import type { rulesOperations as specs } from "#lib/api/operations/authorizations";
import type { RulesResponse, RulesVersionView, SimulateBody } from "#lib/api/schemas/rules";
import type { Executor } from "#lib/db/client";
import { logs, ruleSets } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { base64Encode, utf8Decode } from "#lib/protocol/encoding/bytes";
import { rulesetHash, rulesSchema } from "#lib/protocol/policy/rule-context";
import { forRole } from "#lib/services/accounts/members";
import { findProblems, findWarnings } from "./check";
import type { RulesContext } from "./engine";
import { simulateRules } from "./simulate";
import { type RulesVersion, readProposal, saveRules } from "./versions";

const maxListed = 100;

/** Omits the text, of which a hundred versions may have three megabytes. */
const { number, hash, mode, fallback, second_owner, author_email, confirmed_by, created_at } = ruleSets;
const summary = { number, hash, mode, fallback, second_owner, author_email, confirmed_by, created_at };

const summarize = (row: Pick<RulesVersion, keyof typeof summary>) => ({
  version: row.number,
  hash: row.hash,
  mode: row.mode,
  fallback: row.fallback,
  require_second_owner: row.second_owner,
  author: row.author_email,
  confirmed_by: row.confirmed_by,
  created_at: row.created_at.toISOString(),
});

const describe = (row: RulesVersion, origin: string): RulesVersionView => ({
  ...summarize(row),
  text: row.text,
  log_origin: origin,
  log_index: row.leaf_index,
  statement: {
    payload: utf8Decode(row.payload),
    signature: base64Encode(row.signature),
    envelope_signature: base64Encode(row.envelope_signature),
    key_id: row.signed_by,
  },
});

const listVersions = (executor: Executor, organizationId: string) =>
  executor
    .select(summary)
    .from(ruleSets)
    .where(eq(ruleSets.organization_id, organizationId))
    .orderBy(desc(number))
    .limit(maxListed);

async function readVersion(executor: Executor, organizationId: string, wanted: number) {
  const [found] = await executor
    .select({ row: ruleSets, origin: logs.origin })
    .from(ruleSets)
    .innerJoin(logs, eq(logs.id, ruleSets.log_id))
    .where(and(eq(ruleSets.organization_id, organizationId), eq(number, wanted)));
  return found;
}

async function readRules(
  executor: Executor,
  organizationId: string,
  wanted?: number,
): Promise<RulesResponse> {
  const versions = await listVersions(executor, organizationId);
  const shown = await readVersion(executor, organizationId, wanted ?? versions[0]?.number ?? 0);
  if (wanted !== undefined && shown === undefined)
    throw new AppError("not_found", "your organization has no such version of its rules");
  const proposal = await readProposal(executor, organizationId);
  return {
    schema: rulesSchema,
    rules: shown === undefined ? null : describe(shown.row, shown.origin),
    proposal:
      proposal === null
        ? null
        : {
            id: proposal.id,
            text: proposal.text,
            hash: rulesetHash(proposal.text),
            mode: proposal.mode,
            fallback: proposal.fallback,
            require_second_owner: proposal.second_owner,
            author: proposal.author_email,
            created_at: proposal.created_at.toISOString(),
          },
    versions: versions.map(summarize),
  };
}

/* Rules in the portal: members read them, owners change them. */

export const readOwnRules = forRole(
  "read",
  (context: RulesContext, { organizationId }: MemberPrincipal, number?: number) =>
    readRules(context.database.db, organizationId, number),
);

export const findOwnProblems = forRole(
  "rules",
  async (context: RulesContext, { organizationId }: MemberPrincipal, text: string) =>
    findProblems(context, organizationId, text),
);

export const simulateOwnRules = forRole(
  "rules",
  (context: RulesContext, { organizationId }: MemberPrincipal, body: SimulateBody) =>
    simulateRules(context, organizationId, body),
);

export const findOwnWarnings = forRole(
  "rules",
  async (context: RulesContext, { organizationId }: MemberPrincipal, text: string) =>
    findWarnings(context, organizationId, text),
);

export const saveOwnRules = forRole("rules", saveRules);

export const rulesHandlers: Handlers<typeof specs, RulesContext> = {
  readRules: async ({ context, principal, query }) => ({
    body: await readRules(context.database.db, principal.organizationId, query.version),
  }),
  putRules: async ({ context, principal, body }) => {
    await saveRules(context, principal, body);
    const { organizationId } = principal;
    const warnings = await findWarnings(context, organizationId, body.text);
    return { body: { ...(await readRules(context.database.db, organizationId)), warnings } };
  },
  simulateRules: async ({ context, principal, body }) => ({
    body: await simulateRules(context, principal.organizationId, body),
  }),
};
