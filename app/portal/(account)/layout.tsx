/** The frame of the portal's pages. Each page checks the session itself: a layout is not rendered at every step. */

import type { ReactNode } from "react";
import { AgentText } from "#components/agent-text";
import { ConfirmPasskey } from "#components/passkeys/confirm-passkey";
import { OrganizationSwitcher } from "#components/portal/organization/organization-switcher";
import { PortalFrame } from "#components/portal/organization/shown-organization";
import { PortalNav } from "#components/portal/shell/portal-nav";
import { PortalSearch } from "#components/portal/shell/portal-search";
import { sectionIcons } from "#components/portal/shell/section-icons";
import { SignOut } from "#components/portal/shell/sign-out";
import { SkipLink } from "#components/ui/skip-link";
import { organizationTitleIn } from "#lib/protocol/text/organization-name";
import { type Portal, readPortal } from "#lib/server/pages/portal-request";
import { confirmedMinutes, mayAct } from "#lib/services/accounts/members";
import { hasPasskey } from "#lib/services/accounts/passkeys";
import { countWaiting } from "#lib/services/approvals/decision/inbox";
import { signOut, switchOrganization } from "./actions";
import { beginConfirming, confirm } from "./first-passkey-actions";

/** Turning the second factor on takes a passkey, and so does a suggested rule, before any is asked for. */
async function mayConfirm({ context, person, membership }: Portal): Promise<boolean> {
  if (membership.secondFactor.length > 0) return mayAct(membership.role, "stop");
  return mayAct(membership.role, "security") && (await hasPasskey(context, person));
}

/** Lists below leave the mark away: it would stand in every row. */
function TestBar() {
  return (
    <p className="mb-5 rounded-md bg-test-soft px-3 py-2 text-sm text-test">
      <strong>TEST instance.</strong> Approvals here are permanently marked TEST and prove nothing about a
      person.
    </p>
  );
}

export default async function PortalLayout({ children }: { readonly children: ReactNode }) {
  const portal = await readPortal();
  if (portal === null) return children;
  const { context, person, membership, memberships } = portal;
  return (
    <PortalFrame organizationId={person.organizationId}>
      <div className="mx-auto max-w-7xl px-4 pt-6 sm:px-6">
        <SkipLink href="#section">Skip the portal's menu</SkipLink>
        <div className="no-print flex flex-wrap items-center justify-between gap-x-6 gap-y-2 pb-4">
          <div className="min-w-0">
            <p className="font-medium">
              <AgentText value={organizationTitleIn(memberships, membership)} isName hideWarnings />
            </p>
            <p className="text-muted text-sm [overflow-wrap:anywhere]">
              {person.email} · {membership.role}
            </p>
          </div>
          <div className="flex flex-wrap items-center gap-2">
            {(await mayConfirm(portal)) ? (
              <ConfirmPasskey
                begin={beginConfirming.bind(null, person.organizationId)}
                confirm={confirm.bind(null, person.organizationId)}
                minutes={confirmedMinutes}
              />
            ) : null}
            <PortalSearch organizationId={person.organizationId} />
            {memberships.length > 1 ? (
              <OrganizationSwitcher
                action={switchOrganization}
                organizations={memberships}
                currentId={membership.organizationId}
              />
            ) : null}
            <SignOut action={signOut} isSmall />
          </div>
        </div>
        <div className="lg:grid lg:grid-cols-[11rem_minmax(0,1fr)] lg:gap-8">
          <PortalNav waiting={await countWaiting(context, person)} icons={sectionIcons} />
          <div id="section" tabIndex={-1} className="min-w-0 pt-6 outline-none lg:pt-0">
            {context.worldId.environment === "production" ? null : <TestBar />}
            {children}
          </div>
        </div>
      </div>
    </PortalFrame>
  );
}
