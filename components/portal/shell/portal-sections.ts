/** The portal's pages, for its navigation and its search. */
export const portalSections = [
  { href: "/portal", label: "Overview" },
  { href: "/portal/keys", label: "Keys" },
  { href: "/portal/agents", label: "Agents" },
  { href: "/portal/attestations", label: "Attestations" },
  { href: "/portal/authorizations", label: "Authorizations" },
  { href: "/portal/inbox", label: "Inbox" },
  { href: "/portal/requests", label: "Requests" },
  { href: "/portal/webhooks", label: "Webhooks" },
  { href: "/portal/audit", label: "Audit log" },
  { href: "/portal/settings", label: "Settings" },
] as const;

/** Pages inside a section, which is marked while one is open. The search finds them too. */
export const innerPages = [
  { href: "/portal/approvers", label: "Approvers", section: "/portal/settings" },
  { href: "/portal/evidence", label: "Evidence pack", section: "/portal/attestations" },
] as const;
