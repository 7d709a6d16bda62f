import { type ExampleAttestation, goldenExample } from "#components/landing/example-receipt";
import { Home } from "#components/landing/home";
import { readExample } from "#lib/attestations/example";
import { isBacked } from "#lib/core/statement/statement";
import { publicBaseUrl } from "#lib/http/public-base-url";
import { demoOrganizationId } from "#lib/portal/demo";
import { getApp } from "#lib/runtime/app";

/** The landing page explains and links; it must load while the database is out of reach. */
async function findExample(): Promise<ExampleAttestation> {
  const { context, env } = await getApp();
  const { EXAMPLE_ATTESTATION: id } = env;
  try {
    const found =
      (id === undefined ? null : await readExample(context, { id })) ??
      (await readExample(context, { organizationId: demoOrganizationId }));
    if (found === null) return goldenExample;
    const { slug, approval, id: _, ...rest } = found;
    return {
      ...rest,
      agentSlug: slug,
      approvalMethod: approval.method,
      ...(isBacked(approval) ? { approvalEnvironment: approval.environment } : {}),
    };
  } catch (error) {
    context.logger.warn({ err: error }, "the landing page has no example");
    return goldenExample;
  }
}

interface HomePageProps {
  readonly searchParams: Promise<Record<string, string | string[] | undefined>>;
}

export default async function HomePage({ searchParams }: HomePageProps) {
  const { demo } = await searchParams;
  const { env } = await getApp();
  const refused = demo === "limit" || demo === "busy" ? demo : undefined;
  return (
    <Home base={publicBaseUrl()} example={await findExample()} demo={env.isDemoOn ? { refused } : null} />
  );
}
