import { headers } from "next/headers";
import { goldenExample } from "#components/landing/example-receipt";
import { Home } from "#components/landing/home";
import { publicBaseUrl } from "#lib/api/http/host-check";
import { isBacked } from "#lib/protocol/statement/human-approval";
import { takePreloadedData } from "#lib/server/next/page-cache";
import { findLandingExample } from "#lib/server/pages/public-pages";
import { type App, getApp } from "#lib/server/singleton";
import type { ExampleAttestation } from "#lib/services/attestations/list";

async function findExample(app: App) {
  const handedOver = takePreloadedData<ExampleAttestation | null>(app, await headers());
  const found = await (handedOver ?? findLandingExample(app.context, app.env.EXAMPLE_ATTESTATION));
  if (found === null) return goldenExample;
  const { slug, approval, id: _, ...rest } = found;
  return {
    ...rest,
    agentSlug: slug,
    approvalMethod: approval.method,
    ...(isBacked(approval) ? { approvalEnvironment: approval.environment } : {}),
  };
}

interface HomePageProps {
  readonly searchParams: Promise<Record<string, string | string[] | undefined>>;
}

export default async function HomePage({ searchParams }: HomePageProps) {
  const { demo } = await searchParams;
  const app = await getApp();
  const refused = demo === "limit" || demo === "busy" ? demo : undefined;
  return (
    <Home
      base={publicBaseUrl()}
      example={await findExample(app)}
      proof={app.env.worldId === "none" ? "passkeys" : "World ID"}
      demo={app.env.isDemoOn ? { refused } : null}
    />
  );
}
