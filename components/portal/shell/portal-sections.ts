/** The portal's pages, for its navigation and its search. */
export const portalSections = [
  { href: "/portal", label: "Overview" },
  { href: "/portal/keys", label: "Keys" },
  { href: "/portal/agents", label: "Agents" },
  { href: "/portal/attestations", label: "Attestations" },
  { href: "/portal/authorizations", label: "Approvals" },
  { href: "/portal/inbox", label: "Inbox" },
  { href: "/portal/rules", label: "Rules" },
  { href: "/portal/requests", label: "API log" },
  { href: "/portal/webhooks", label: "Webhooks" },
  { href: "/portal/audit", label: "Audit log" },
  { href: "/portal/settings", label: "Settings" },
] as const;

/** Pages inside a section, which is marked while one is open. The search finds them too. */
export const innerPages = [
  { href: "/portal/approvers", label: "Approvers", section: "/portal/settings" },
  { href: "/portal/evidence", label: "Evidence pack", section: "/portal/attestations" },
] as const;

/** Where something is done, with what people type for it; the search finds them. */
export const portalTasks = [
  {
    href: "/portal/settings#members",
    label: "Invite a colleague",
    words: "members people team user add role owner",
  },
  { href: "/portal/settings#domains", label: "Prove a domain", words: "domain dns verified website" },
  {
    href: "/portal/settings#delete",
    label: "Delete organization",
    words: "delete account close remove cancel",
  },
  {
    href: "/portal/settings#organization",
    label: "Rename organization",
    words: "name logo mark default visibility",
  },
  {
    href: "/portal/settings#limits",
    label: "Limits and retention",
    words: "quota daily limit usage retention privacy gdpr",
  },
  { href: "/portal", label: "Usage", words: "usage chart busiest limit today statistics" },
  { href: "/portal/keys", label: "Create an API key", words: "token secret rotate revoke new" },
  { href: "/portal/inbox", label: "Email notifications", words: "mail notice unsubscribe reminders" },
  { href: "/portal/attestations", label: "Export attestations", words: "csv ndjson download export erase" },
] as const;
