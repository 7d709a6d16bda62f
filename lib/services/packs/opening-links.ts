/**
 * Links by which somebody without an account opens a receipt or an evidence pack. The page behind one shows nothing of
 * what it opens; only a POST does, and each is in the audit log. A link opens what its maker may take out at that
 * moment: it ends by time, when it is revoked, and when its maker leaves.
 */
import { and, count, desc, eq, gt, isNull, type SQL, sql } from "drizzle-orm";
import type { MemberPrincipal } from "#lib/api/http/context";
import { enforceLimit } from "#lib/api/http/pipeline";
import type { OpeningLinkDays } from "#lib/api/schemas/key-choices";
import { openingLinks, organizations } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { base64UrlEncode, sha256, utf8Encode, uuidV7 } from "#lib/protocol/encoding/bytes";
import { recordAct, recordAudit } from "#lib/services/accounts/audit";
import { holdRole, personNotFound, requireRole } from "#lib/services/accounts/members";
import type { Context } from "#lib/services/approvals/context";
import type { OpeningChoice } from "#lib/services/approvals/read";
import { buildOpenedReceipt } from "#lib/services/attestations/own";
import { beginPack, type PackRequest } from "./pack";

const maxLive = 100;
/** Limit: each opening reads a receipt or writes a pack, and is an event of the audit log. */
const opensPerHour = 30;

type Row = typeof openingLinks.$inferSelect;
type Packed = Pick<PackRequest, "agentSlugs" | "period" | "withPrivate">;

export type LinkSubject =
  | { attestationId: string; opening: Exclude<OpeningChoice, "none"> }
  | { pack: PackRequest };

const hashToken = (token: string) => sha256(utf8Encode(token));
const isLive = and(isNull(openingLinks.revoked_at), gt(openingLinks.expires_at, sql`now()`));
const readPacked = ({ pack }: Row) => (pack === null ? null : (JSON.parse(pack) as Packed));

/** Describes it in a few words, for the audit log and for lists. */
function describeSubject({ attestation_id: id, pack }: Pick<Row, "attestation_id" | "pack">): string {
  if (pack === null) return id ?? "";
  const { agentSlugs, period } = JSON.parse(pack) as Packed;
  const agents = agentSlugs.length === 0 ? "all agents" : agentSlugs.join(", ");
  const lastDay = new Date(Date.parse(period.to) - 1).toISOString();
  return `${agents}, ${period.from.slice(0, 10)} to ${lastDay.slice(0, 10)}`;
}

/** Answers the link, which nobody can read again. Throws what opening it would. */
export async function makeOpeningLink(
  context: Context,
  person: MemberPrincipal,
  subject: LinkSubject,
  days: OpeningLinkDays,
): Promise<string> {
  const { organizationId } = person;
  const { db } = context.database;
  if ("pack" in subject) await (await beginPack(context, person, subject.pack)).parts.return(undefined);
  else await buildOpenedReceipt(context, person, subject.attestationId, subject.opening);
  const token = base64UrlEncode(context.random(32));
  const now = context.clock();
  const row = {
    id: uuidV7(now.getTime(), context.random(16)),
    attestation_id: "pack" in subject ? null : subject.attestationId,
    pack: "pack" in subject ? JSON.stringify({ ...subject.pack, opening: undefined }) : null,
    opening: "pack" in subject ? (subject.pack.opening ?? "none") : subject.opening,
  };
  await db.transaction(async (tx) => {
    await holdRole(tx, person, "take_out");
    const [live] = await tx
      .select({ count: count() })
      .from(openingLinks)
      .where(and(eq(openingLinks.organization_id, organizationId), isLive));
    if ((live?.count ?? 0) >= maxLive)
      throw new AppError("validation_error", `an organization can have ${maxLive} links: revoke one first`);
    await tx.insert(openingLinks).values({
      ...row,
      organization_id: organizationId,
      token_hash: hashToken(token),
      user_id: person.userId,
      made_by: person.email,
      created_at: now,
      // Set by the clock that it will be compared with.
      expires_at: sql`now() + make_interval(days => ${Number(days)})`,
    });
    await recordAct(context, tx, person, {
      action: "opening_link.made",
      subject: row.id,
      detail: { opens: describeSubject(row), opened: row.opening, days: Number(days) },
    });
  });
  return `${context.settings.baseUrl}/opened/${token}`;
}

export interface OpeningLinkView {
  id: string;
  subject: string;
  attestationId: string | null;
  opening: OpeningChoice;
  madeBy: string;
  expiresAt: string;
  opened: number;
  lastOpenedAt: string | null;
}

/** Lists working links, newest first; of one receipt, or all. */
export async function listOpeningLinks(
  { database: { db } }: Context,
  person: MemberPrincipal,
  attestationId?: string,
): Promise<OpeningLinkView[]> {
  await requireRole(db, person, "take_out");
  const isAbout = attestationId === undefined ? undefined : eq(openingLinks.attestation_id, attestationId);
  const rows = await db
    .select()
    .from(openingLinks)
    .where(and(eq(openingLinks.organization_id, person.organizationId), isLive, isAbout))
    .orderBy(desc(openingLinks.created_at), desc(openingLinks.id));
  return rows.map((row) => ({
    id: row.id,
    subject: describeSubject(row),
    attestationId: row.attestation_id,
    opening: row.opening,
    madeBy: row.made_by,
    expiresAt: row.expires_at.toISOString(),
    opened: row.opened,
    lastOpenedAt: row.last_opened_at?.toISOString() ?? null,
  }));
}

/** Anyone who may make links may end them: a stop must be near. */
export async function revokeOpeningLink(
  context: Context,
  person: MemberPrincipal,
  id: string,
): Promise<void> {
  const { organizationId } = person;
  await context.database.db.transaction(async (tx) => {
    await holdRole(tx, person, "take_out");
    const revoked = await tx
      .update(openingLinks)
      .set({ revoked_at: sql`now()` })
      .where(and(eq(openingLinks.id, id), eq(openingLinks.organization_id, organizationId), isLive))
      .returning();
    const [row] = revoked;
    if (row === undefined) throw personNotFound();
    const detail = { opens: describeSubject(row) };
    await recordAct(context, tx, person, { action: "opening_link.revoked", subject: id, detail });
  });
}

async function findLive({ database: { db } }: Context, which: SQL) {
  const [found] = await db
    .select({ row: openingLinks, organizationName: organizations.name })
    .from(openingLinks)
    .innerJoin(organizations, eq(organizations.id, openingLinks.organization_id))
    .where(and(which, isLive, isNull(organizations.deleted_at)));
  return found ?? null;
}

/** Acts as its maker, reading from the opener's address. */
const actFor = ({ user_id: userId, made_by: email, organization_id: organizationId }: Row, ip: string) =>
  ({ kind: "user", userId, email, ip, session: "", organizationId }) satisfies MemberPrincipal;

async function requireLive(context: Context, token: string, ip: string) {
  const found = await findLive(context, eq(openingLinks.token_hash, hashToken(token)));
  if (found === null) throw personNotFound();
  const maker = actFor(found.row, ip);
  await requireRole(context.database.db, maker, "take_out").catch((error: unknown) => {
    if (error instanceof AppError) throw personNotFound();
    throw error;
  });
  return { ...found, maker };
}

/** Reads a link for the page: changes nothing, because mail scanners open links. Throws 404 for one that works no more. */
export async function readOpeningLink(context: Context, token: string, ip: string) {
  const { row, organizationName } = await requireLive(context, token, ip);
  return {
    kind: row.pack === null ? ("receipt" as const) : ("pack" as const),
    subject: describeSubject(row),
    opening: row.opening,
    madeBy: row.made_by,
    organizationName,
    expiresAt: row.expires_at.toISOString(),
  };
}

async function* writeJson(value: unknown) {
  yield utf8Encode(`${JSON.stringify(value, null, 2)}\n`);
}

/** Opens it as a file. `requireOpen` throws once the link works no more. */
export async function openByLink(context: Context, token: string, ip: string) {
  const { row, maker } = await requireLive(context, token, ip);
  const limit = { name: "opening_link", limit: opensPerHour, windowSeconds: 3_600 };
  await enforceLimit(context, limit, row.id);
  const packed = readPacked(row);
  const id = row.attestation_id ?? "";
  const file =
    packed === null
      ? {
          name: `receipt-${id}-opened.json`,
          type: "application/json",
          parts: writeJson(
            await buildOpenedReceipt(context, maker, id, row.opening === "all" ? "all" : "payee"),
          ),
        }
      : {
          type: "application/zip",
          ...(await beginPack(context, maker, { ...packed, opening: row.opening })),
        };
  await noteOpening(context, row, ip);
  return { ...file, requireOpen: () => requireLive(context, token, ip) };
}

const noteOpening = (context: Context, row: Row, ip: string) =>
  context.database.db.transaction(async (tx) => {
    const noted = await tx
      .update(openingLinks)
      .set({ opened: sql`${openingLinks.opened} + 1`, last_opened_at: sql`now()` })
      .where(and(eq(openingLinks.id, row.id), isLive))
      .returning({ id: openingLinks.id });
    // Revoked meanwhile: nothing was given out, and nothing is.
    if (noted.length === 0) throw personNotFound();
    await recordAudit(context, tx, {
      organizationId: row.organization_id,
      actor: { kind: "human", id: `link ${row.id}`, ip },
      action: "opening_link.opened",
      subject: row.id,
      detail: { opens: describeSubject(row), opened: row.opening },
    });
  });
