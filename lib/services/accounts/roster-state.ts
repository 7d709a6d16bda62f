/** Who may approve at this moment, as entries of a roster, and how that differs from the roster before. */
import { and, eq, isNull, sql } from "drizzle-orm";
import type { Executor } from "#lib/db/client";
import { approverGroups, approvers, organizations, passkeys } from "#lib/db/schema";
import { base64Encode, base64UrlEncode } from "#lib/protocol/encoding/bytes";
import { canonicalHash, canonicalJson } from "#lib/protocol/encoding/canonical-json";
import { hashGroup, orderEntries } from "#lib/protocol/passkey/roster";
import type { GroupOpening, RosterEntry } from "#lib/protocol/passkey/roster-shape";
import type { AccountsContext } from "./context";

type Names = Record<string, string>;

/** Names and openings that entries hide, for the organization alone. */
export interface RosterDetails {
  /** By credential id. */
  openings: Record<string, GroupOpening[]>;
  people: Names;
  groups: Names;
  /** By credential id. */
  passkeys: Names;
}

export interface RosterState {
  /** In the roster's order. */
  entries: RosterEntry[];
  details: RosterDetails;
}

export type RosterChange =
  | { kind: "passkey_added"; person: string; passkey: string; groups: string[] }
  | { kind: "passkey_removed"; person: string; passkey: string }
  | { kind: "joined" | "left"; person: string; group: string };

/** Passkeys that count: not removed, of people who confirmed, in an organization that is there. */
export const isEnrolled = and(isNull(passkeys.removed_at), eq(approvers.status, "confirmed"));

async function readEnrolled(tx: Executor, organizationId: string) {
  const rows = await tx
    .select({
      approverId: passkeys.approver_id,
      person: sql<string>`coalesce(${approvers.name}, ${approvers.email})`,
      credentialId: passkeys.credential_id,
      publicKey: passkeys.public_key,
      name: passkeys.name,
      salt: passkeys.salt,
      since: passkeys.created_at,
    })
    .from(passkeys)
    .innerJoin(approvers, eq(approvers.id, passkeys.approver_id))
    .innerJoin(organizations, eq(organizations.id, passkeys.organization_id))
    .where(and(eq(passkeys.organization_id, organizationId), isEnrolled, isNull(organizations.deleted_at)));
  const places = await tx
    .select({
      approverId: approverGroups.approver_id,
      groupId: approverGroups.group_id,
      name: approvers.name,
    })
    .from(approverGroups)
    .innerJoin(approvers, eq(approvers.id, approverGroups.group_id))
    .where(eq(approvers.organization_id, organizationId));
  return { rows, places };
}

/** An opening that was there before is kept, so that an entry that didn't change has the same bytes. */
function openGroups(
  { random }: Pick<AccountsContext, "random">,
  groupIds: string[],
  before: GroupOpening[] = [],
): GroupOpening[] {
  return groupIds.map(
    (group) => before.find((one) => one.group === group) ?? { group, salt: base64Encode(random(16)) },
  );
}

export async function readRosterState(
  context: Pick<AccountsContext, "random">,
  tx: Executor,
  organizationId: string,
  before: RosterDetails | null,
): Promise<RosterState> {
  const { rows, places } = await readEnrolled(tx, organizationId);
  const details = structuredClone(noDetails);
  for (const { groupId, name } of places) details.groups[groupId] = name ?? "";
  const entries = rows.map((row): RosterEntry => {
    const { approverId, credentialId } = row;
    const groupIds = places.filter((place) => place.approverId === approverId).map(({ groupId }) => groupId);
    const openings = openGroups(context, groupIds.sort(), before?.openings[credentialId]);
    details.openings[credentialId] = openings;
    details.people[approverId] = row.person;
    details.passkeys[credentialId] = row.name;
    return {
      approver_id: approverId,
      credential_id: credentialId,
      public_key: base64UrlEncode(row.publicKey),
      groups: openings.map(hashGroup).sort(),
      since: row.since.toISOString(),
      salt: base64Encode(row.salt),
    };
  });
  return { entries: orderEntries(entries), details };
}

export const isSameRoster = (a: readonly RosterEntry[], b: readonly RosterEntry[]) =>
  canonicalHash(a.map((entry) => ({ ...entry }))) === canonicalHash(b.map((entry) => ({ ...entry })));

export const noDetails: RosterDetails = { openings: {}, people: {}, groups: {}, passkeys: {} };

/** Lists an owner's view of the changes, by name. A person with several passkeys joins a group once. */
export function describeChanges(before: RosterState | null, now: RosterState): RosterChange[] {
  const { entries, details } = before ?? { entries: [], details: noDetails };
  const known = new Map(entries.map((entry) => [entry.credential_id, entry]));
  const current = new Set(now.entries.map(({ credential_id }) => credential_id));
  const changes: RosterChange[] = [];
  const moved = new Map<string, RosterChange>();
  for (const { credential_id: id, approver_id } of now.entries) {
    const person = now.details.people[approver_id] ?? "";
    const groupsNow = groupNames(now.details, id);
    if (!known.has(id)) {
      const passkey = now.details.passkeys[id] ?? "";
      changes.push({ kind: "passkey_added", person, passkey, groups: Object.values(groupsNow).sort() });
      continue;
    }
    const groupsBefore = groupNames(details, id);
    for (const [group, name] of Object.entries(groupsNow))
      if (!(group in groupsBefore))
        moved.set(`joined ${approver_id} ${group}`, { kind: "joined", person, group: name });
    for (const [group, name] of Object.entries(groupsBefore))
      if (!(group in groupsNow))
        moved.set(`left ${approver_id} ${group}`, { kind: "left", person, group: name });
  }
  for (const { credential_id: id, approver_id } of entries) {
    if (current.has(id)) continue;
    const person = details.people[approver_id] ?? "";
    changes.push({ kind: "passkey_removed", person, passkey: details.passkeys[id] ?? "" });
  }
  const place = ({ kind, person, ...of }: RosterChange) => canonicalJson([person, kind, { ...of }]);
  return [...changes, ...moved.values()].sort((a, b) => (place(a) < place(b) ? -1 : 1));
}

function groupNames({ openings, groups }: RosterDetails, credentialId: string): Names {
  const ids = (openings[credentialId] ?? []).map(({ group }) => group);
  return Object.fromEntries(ids.map((id) => [id, groups[id] ?? ""]));
}
