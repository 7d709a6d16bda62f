/** Roles in words, for forms and dialogs; the guide "Roles" has the whole table. */
import type { Role, SecondFactor } from "#lib/api/schemas/key-choices";

export const roleWords: Readonly<Record<Role, string>> = {
  owner: "does everything: members, approvers, rules, settings, erasing and deleting the organization",
  admin: "manages keys and their limits, agents, webhooks and approvals, and sees everything",
  approver: "sees everything, stops agents and takes approvals back; changes nothing else",
  auditor: "sees everything, private records too, and makes exports and evidence packs; changes nothing",
  member: "manages keys, agents, webhooks and approvals, and sees everything",
};

export const factorWords: Readonly<Record<SecondFactor, string>> = {
  owners: "Everything that owners change",
  members: "Members, approvers and groups",
  rules: "Rules, and keys that can change them",
  freeze: "Freezing agents, and keys that can let them go on",
  erase: "Erasing, retention and legal hold, and keys that can erase",
};
