/** The portal's pages, for its navigation and its search. */
export const sectionGroups = [
  {
    title: null,
    sections: [
      { href: "/portal", label: "Overview" },
      { href: "/portal/inbox", label: "Inbox" },
    ],
  },
  {
    title: "Decisions",
    sections: [
      { href: "/portal/authorizations", label: "Approvals" },
      { href: "/portal/standing", label: "Standing approvals" },
      { href: "/portal/approvers", label: "Approvers" },
      { href: "/portal/rules", label: "Rules" },
    ],
  },
  {
    title: "Records",
    sections: [
      { href: "/portal/agents", label: "Agents" },
      { href: "/portal/attestations", label: "Attestations" },
    ],
  },
  {
    title: "Developers",
    sections: [
      { href: "/portal/keys", label: "Keys" },
      { href: "/portal/webhooks", label: "Webhooks" },
      { href: "/portal/requests", label: "API log" },
    ],
  },
  {
    title: "Organization",
    sections: [
      { href: "/portal/audit", label: "Audit log" },
      { href: "/portal/settings", label: "Settings" },
    ],
  },
] as const;

export const portalSections = sectionGroups.flatMap(
  ({ sections }): readonly { readonly href: SectionHref; readonly label: string }[] => sections,
);

export type SectionHref = (typeof sectionGroups)[number]["sections"][number]["href"];

/** Pages inside a section, which is marked while one is open. The search finds them too. */
export const innerPages = [
  { href: "/portal/evidence", label: "Evidence pack", section: "/portal/attestations" },
] as const;

/** Tasks and the words that people type for them; the search finds them. */
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
