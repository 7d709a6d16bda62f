import { headers } from "next/headers";
import { goldenExample } from "#components/landing/example-receipt";
import { Home } from "#components/landing/home";
import type { ExampleAttestation } from "#lib/attestations/example";
import { isBacked } from "#lib/core/statement/statement";
import { publicBaseUrl } from "#lib/http/public-base-url";
import { findLandingExample } from "#lib/pages/landing-example";
import type { App } from "#lib/runtime/app";
import { takeHandedOver } from "#lib/runtime/server/record-page-cache";
import { getApp } from "#lib/runtime/singleton";

async function findExample(app: App) {
  const handedOver = takeHandedOver<ExampleAttestation | null>(app, await headers());
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
      demo={app.env.isDemoOn ? { refused } : null}
    />
  );
}
