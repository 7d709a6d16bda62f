/**
 * /notices/<token>: what approvers choose by the link in their mails. Opening it changes nothing, because mail scanners
 * open links too; only the buttons do.
 */

import type { Metadata } from "next";
import { AgentText } from "#components/agent-text";
import { NotFoundPage } from "#components/not-found-page";
import { DeviceList } from "#components/passkeys/device-list";
import { LinkPasskeys } from "#components/passkeys/link-passkeys";
import { approveNext } from "#components/passkeys/passkey-actions";
import { Button } from "#components/ui/button";
import { Callout } from "#components/ui/callout";
import { TextLink } from "#components/ui/text-link";
import { organizationTitle } from "#lib/protocol/text/organization-name";
import { orNotFound } from "#lib/server/pages/portal-request";
import { withNotFound } from "#lib/server/pages/with-not-found";
import { getApp } from "#lib/server/singleton";
import { readApproverLink } from "#lib/services/accounts/approvers";
import { listPasskeys, maxPasskeys, readPasskeyLink } from "#lib/services/accounts/passkeys";
import { listDevices, readPushKey } from "#lib/services/notifications/push";

export const metadata: Metadata = {
  title: "Emails about approval requests",
  robots: { index: false, follow: false },
  referrer: "no-referrer",
};

interface PageProps {
  readonly params: Promise<{ token: string }>;
  readonly searchParams: Promise<Record<string, string | string[] | undefined>>;
}

type Link = Awaited<ReturnType<typeof readApproverLink>>;

function explain({ status, mayConfirm }: Link): string {
  if (status === "confirmed") return "gets these emails";
  if (status === "left") return "no longer gets these emails";
  return mayConfirm
    ? "has been added as an approver and gets nothing until you accept"
    : "was added as an approver, but this link has expired. Ask the sender to add you again";
}

function RequestLink({ token, isExpired }: { readonly token: string; readonly isExpired: boolean }) {
  return (
    <form method="post" action={`/notices/${token}/passkey-link`} className="flex flex-col items-start gap-3">
      <p className="text-muted">
        {isExpired ? "This link has expired. " : null}
        To add or remove a passkey, or if you lost your device, get a new link by email.
      </p>
      <Button type="submit" variant="secondary">
        Send me a link
      </Button>
    </form>
  );
}

async function Devices({ token, approverId }: { readonly token: string; readonly approverId: string }) {
  const { context } = await getApp();
  return (
    <>
      <h3 className="mt-8 mb-2 font-semibold text-lg">Notifications</h3>
      <DeviceList
        path={`/notices/${token}/devices`}
        devices={await listDevices(context, approverId)}
        pushKey={readPushKey(context)}
      />
    </>
  );
}

/** A button for whoever has just been asked; for everybody else it is no next step, and looks like a link. */
function Leave({ token, isNew = false }: { readonly token: string; readonly isNew?: boolean }) {
  return (
    <form method="post" action={`/notices/${token}/leave`}>
      {isNew ? (
        <Button type="submit" size="large" variant="secondary" className="w-full">
          Decline
        </Button>
      ) : (
        <p className="text-muted text-sm">
          <button
            type="submit"
            className="min-h-8 cursor-pointer text-accent underline underline-offset-[3px]"
          >
            Unsubscribe
          </button>
          : you'll no longer be an approver, and your passkeys will be removed.
        </p>
      )}
    </form>
  );
}

async function Passkeys({ token, isMailed }: { readonly token: string; readonly isMailed: boolean }) {
  const { context } = await getApp();
  const link = await readPasskeyLink(context, token);
  if (link === null) return null;
  const passkeys = await listPasskeys(context.database.db, link.approver.id);
  const { length } = passkeys;
  const count = length === 0 ? "no passkey" : length === 1 ? "one passkey" : `${length} passkeys`;
  return (
    <section aria-labelledby="passkeys" className="mt-10 border-line border-t pt-6">
      <h2 id="passkeys" className="font-semibold text-xl">
        Your passkeys
      </h2>
      <p className="mt-2 mb-4 text-muted">
        {length === 0
          ? "With a passkey you approve with your device's fingerprint, face or PIN. Some requests accept nothing else."
          : `You have ${count}. Each signs with your device's fingerprint, face or PIN.`}
      </p>
      {length > 0 && !link.mayManage && !isMailed ? (
        <div className="mb-4">
          <Callout tone="pass" title="You can approve now">
            {approveNext}
          </Callout>
        </div>
      ) : null}
      {isMailed ? (
        <Callout tone="info" title="Link sent">
          Open it on the device that you approve with. It expires in 30 minutes.
        </Callout>
      ) : null}
      {link.mayManage ? (
        <LinkPasskeys token={token} passkeys={passkeys} max={maxPasskeys} />
      ) : isMailed ? null : (
        <RequestLink token={token} isExpired={link.isExpired} />
      )}
      {link.mayNotify && length > 0 ? <Devices token={token} approverId={link.approver.id} /> : null}
    </section>
  );
}

async function NoticesPage({ params, searchParams }: PageProps) {
  const { token } = await params;
  const { mailed } = await searchParams;
  const { context } = await getApp();
  const link = await orNotFound(readApproverLink(context, token));
  const isNew = link.status === "invited";
  return (
    <section className="mx-auto max-w-md px-4 py-16 sm:px-6">
      <h1 className="font-semibold text-3xl">Approval requests by email</h1>
      <p className="mt-3 text-lg text-muted">
        When AI agents of{" "}
        <strong className="text-ink">
          <AgentText value={organizationTitle(link.organizationName)} isName />
        </strong>{" "}
        need an approval, approvers get the link by email.{" "}
        <span className="[overflow-wrap:anywhere]">{link.email}</span> {explain(link)}.
      </p>
      <div className="mt-8 flex flex-col gap-3">
        {link.mayConfirm ? (
          <form method="post" action={`/notices/${token}/confirm`}>
            <Button type="submit" size="large" className="w-full">
              {isNew ? "Accept" : "Subscribe again"}
            </Button>
          </form>
        ) : null}
        {isNew ? <Leave token={token} isNew /> : null}
      </div>
      {link.status === "confirmed" ? <Passkeys token={token} isMailed={mailed !== undefined} /> : null}
      {link.status === "confirmed" ? (
        <p className="mt-6 text-muted">
          Sign in with this address to choose which emails you get and see pending requests:{" "}
          <TextLink href="/portal/inbox">Inbox</TextLink>
        </p>
      ) : null}
      {link.status === "confirmed" ? (
        <div className="mt-6">
          <Leave token={token} />
        </div>
      ) : null}
    </section>
  );
}

export default withNotFound(NoticesPage, NotFoundPage);
