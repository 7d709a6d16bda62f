/**
 * /opened/<token>: a receipt or an evidence pack that an organization opens to whoever has the link. The page shows none
 * of it: mail scanners open links, so a button asks for the file, which this browser verifies.
 */
import type { Metadata } from "next";
import { AgentText } from "#components/agent-text";
import { LinkEnded, OpenedFile } from "#components/verify/opened-file";
import { organizationTitle } from "#lib/protocol/text/organization-name";
import { currentAddress, orNotFound } from "#lib/server/pages/portal-request";
import { withNotFound } from "#lib/server/pages/with-not-found";
import { getApp } from "#lib/server/singleton";
import { readOpeningLink } from "#lib/services/packs/opening-links";

export const metadata: Metadata = {
  title: "Opened to you",
  robots: { index: false, follow: false },
  referrer: "no-referrer",
};

interface PageProps {
  readonly params: Promise<{ token: string }>;
}

const titles = { receipt: "A receipt, opened to you", pack: "An evidence pack, opened to you" } as const;

async function OpenedPage({ params }: PageProps) {
  const { token } = await params;
  const { context } = await getApp();
  const link = await orNotFound(readOpeningLink(context, token, await currentAddress()));
  return (
    <div
      className={`mx-auto px-4 pt-10 sm:px-6 sm:pt-16 ${link.kind === "pack" ? "max-w-6xl" : "max-w-3xl"}`}
    >
      <h1 className="font-semibold text-3xl sm:text-4xl">{titles[link.kind]}</h1>
      <p className="mt-3 text-lg text-muted">
        By <AgentText value={organizationTitle(link.organizationName)} isName />.
      </p>
      <OpenedFile action={`/opened/${token}/file`} {...link} />
    </div>
  );
}

export default withNotFound(OpenedPage, LinkEnded);
