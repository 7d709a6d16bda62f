/** Reads of public pages that the server also makes before Next renders them; Next itself is not loaded here. */
import { and, eq } from "drizzle-orm";
import { readPublicly } from "#lib/api/http/response-cache";
import type { FeedResponse } from "#lib/api/schemas/identity";
import type { VerifyResponse } from "#lib/api/schemas/receipts";
import type { Database } from "#lib/db/client";
import { authorizationRequests } from "#lib/db/schema";
import type { VerifiedDomain } from "#lib/protocol/approval/assign-groups";
import { hexDecode } from "#lib/protocol/encoding/bytes";
import { isJsonObject } from "#lib/protocol/encoding/canonical-json";
import { MESSAGE_NAMES, parseMessage } from "#lib/protocol/presentation/disclosure";
import {
  type ApprovalMethod,
  type HumanApproval,
  isApprovalMethod,
  isBacked,
} from "#lib/protocol/statement/human-approval";
import { readIdentity } from "#lib/services/accounts/domains";
import type { Context } from "#lib/services/approvals/context";
import { readAgentFeed } from "#lib/services/attestations/feed";
import { type ExampleAttestation, readExample } from "#lib/services/attestations/list";
import { type RecordSummary, readNeighbours, readRecordSummary } from "#lib/services/attestations/record";
import type { StoredAttestation } from "#lib/services/attestations/stored-receipt";
import { cacheVerification, parseObject } from "#lib/services/attestations/verify";
import { demoOrganizationId } from "#lib/services/portal/demo";
import { findHabits, type Habits } from "#lib/verifier/checks/warning-rows";

export interface AgentPage {
  agent: FeedResponse;
  record: RecordSummary;
}

export const entriesShown = 20;

type PageQuery = Parameters<typeof readAgentFeed>[2];

export async function readAgentForPage(
  context: Context,
  slug: string,
  page: Omit<PageQuery, "limit"> = {},
): Promise<AgentPage> {
  const read = (from: Context) => readAgentFeed(from, slug, { ...page, limit: entriesShown });
  const [agent, record] = await Promise.all([readPublicly(context, read), readRecordSummary(context, slug)]);
  return { agent, record };
}

/** The landing page's example: the one that the settings name, or the demo's newest. Null also without a database: the page explains and links. */
export async function findLandingExample(
  context: Context,
  id: string | undefined,
): Promise<ExampleAttestation | null> {
  try {
    return (
      (id === undefined ? null : await readExample(context, { id })) ??
      (await readExample(context, { organizationId: demoOrganizationId }))
    );
  } catch (error) {
    context.logger.warn({ err: error }, "the landing page has no example");
    return null;
  }
}

export interface VerificationPage {
  answer: VerifyResponse;
  /** Status of the key that signed; `unknown` if it is not one of the service's. */
  keyStatus: "active" | "retired" | "revoked" | "unknown";
  /** True for private attestations too: a TEST approval is permanently marked everywhere. */
  isTest: boolean;
  /** The grade as far as a stranger may know it: of a private attestation, from its zero-knowledge proof or a warning. */
  approvalMethod: ApprovalMethod | null;
  /** Facts that only this service states about a public record that is not erased; null for any other. */
  surroundings: Surroundings | null;
}

interface Surroundings {
  organization: {
    name: string | null;
    domains: Pick<VerifiedDomain, "domain" | "unicode" | "last_checked">[];
  };
  habits: Habits;
  /** Entry of the agent's record by which people gave the standing approval that this is a use of. */
  grant: { at: string; sequence: number } | null;
}

function findApprovalMethod(answer: VerifyResponse) {
  const { human_approval: approval, checks, zk_proof: proof, warnings } = answer;
  if (approval !== null) return approval.method;
  if (warnings.some(({ code }) => code === "approval_asserted_only")) return "hash";
  const isProven = checks.some(({ name, status }) => name === "zk_proof" && status === "pass");
  const index = MESSAGE_NAMES.indexOf("human_approval_method");
  const method = isProven ? parseMessage(index, proof?.disclosed[index] ?? "") : undefined;
  return isApprovalMethod(method) ? method : null;
}

/** A changed payload may say production beside an authorization that still says what it was. */
function isTestAuthorization(stored: Uint8Array | null): boolean {
  const object = parseObject(stored);
  return object !== null && object["environment"] !== "production";
}

function isTestApproval(approval: HumanApproval | undefined): boolean {
  return approval !== undefined && isBacked(approval) && approval.environment !== "production";
}

/** The entry is public, as all of an agent's record, and says no more than that it was approved. */
async function findGrantEntry({ db }: Database, organizationId: string, decidedBy: unknown) {
  if (!isJsonObject(decidedBy) || decidedBy["kind"] !== "grant") return null;
  const { decision_log, decided_at, organization_id, request_hash } = authorizationRequests;
  const [row] = await db
    .select({ log: decision_log, at: decided_at })
    .from(authorizationRequests)
    .where(
      and(
        eq(organization_id, organizationId),
        eq(request_hash, hexDecode(String(decidedBy["request_hash"]))),
      ),
    );
  const entry = JSON.parse(row?.log ?? "{}") as { record?: { sequence: number } | null };
  return row?.at && entry.record ? { at: row.at.toISOString(), sequence: entry.record.sequence } : null;
}

/** Skips a record that failed: its row may point to any organization. */
async function readSurroundings(
  { database }: Context,
  organizationId: string,
  { attestation_id: id, valid, is_public, action, human_authorization: object }: VerifyResponse,
): Promise<Surroundings | null> {
  if (valid !== true || !is_public || action === null) return null;
  const [identity, { before, after }, grant] = await Promise.all([
    readIdentity(database.db, organizationId),
    readNeighbours(database, id),
    findGrantEntry(database, organizationId, object?.["decided_by"]),
  ]);
  const domains = identity?.domains ?? [];
  return {
    organization: {
      name: identity?.name ?? null,
      domains: domains.map(({ domain, unicode, last_checked }) => ({ domain, unicode, last_checked })),
    },
    habits: findHabits(action, before, after),
    grant,
  };
}

export const verifyForPage = (context: Context, id: string, client: string): Promise<VerificationPage> =>
  readPublicly(context, (from) => verifyFrom(from, id, client));

/** Everything but the surroundings, which come from other rows. */
interface Remembered extends Omit<VerificationPage, "surroundings"> {
  organizationId: string;
}

async function verifyFrom(context: Context, id: string, client: string): Promise<VerificationPage> {
  const describe = async (answer: VerifyResponse, stored: StoredAttestation): Promise<Remembered> => {
    const key = (await context.keys.published()).find(({ keyId }) => keyId === answer.key_id);
    return {
      answer,
      organizationId: stored.organization_id,
      keyStatus: key?.status ?? "unknown",
      isTest:
        isTestApproval(stored.statement?.predicate.human_approval) ||
        isTestAuthorization(stored.human_authorization),
      approvalMethod: findApprovalMethod(answer),
    };
  };
  const { text } = await cacheVerification(context, "page", { id, viewer: null, client }, describe);
  const { organizationId, ...page } = JSON.parse(text) as Remembered;
  return { ...page, surroundings: await readSurroundings(context, organizationId, page.answer) };
}
