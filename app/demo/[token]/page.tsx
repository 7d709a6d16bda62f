/** /demo/<token>: one demo request from request to receipt. The token lets its holder decide, as on /approve. */
import type { Metadata } from "next";
import { DemoView } from "#components/demo/demo-view";
import { NotFoundPage } from "#components/not-found-page";
import { currentAddress, orNotFound } from "#lib/server/pages/portal-request";
import { withNotFound } from "#lib/server/pages/with-not-found";
import { getApp } from "#lib/server/singleton";
import { readDemo } from "#lib/services/portal/demo";

export const metadata: Metadata = {
  title: "Approve a test payment",
  robots: { index: false, follow: false },
  referrer: "no-referrer",
};

interface DemoPageProps {
  readonly params: Promise<{ token: string }>;
}

async function DemoPage({ params }: DemoPageProps) {
  const { token } = await params;
  const { context, env } = await getApp();
  const { authorization, ...rest } = await orNotFound(readDemo(context, token, await currentAddress()));
  return (
    <DemoView
      status={authorization.status}
      requestId={authorization.request_id}
      confirmationCode={authorization.confirmation_code ?? ""}
      isLoopback={env.isLoopback}
      receiptForm={`/demo/${token}/receipt`}
      {...rest}
    />
  );
}

export default withNotFound(DemoPage, NotFoundPage);
