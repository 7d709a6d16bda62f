import type { ExampleAttestation } from "#components/example-receipt";
import { Home } from "#components/home";
import { getApp } from "#lib/app/app";
import { readLatestAttestation } from "#lib/attestations/latest";
import { publicBaseUrl } from "#lib/door/public-base-url";

/** The landing page explains and links; it must load while the database is out of reach. */
async function readExample(): Promise<ExampleAttestation | null> {
  const { context } = await getApp();
  try {
    const latest = await readLatestAttestation(context);
    if (latest === null) return null;
    const { slug, approval, ...rest } = latest;
    return {
      ...rest,
      agentSlug: slug,
      approvalMethod: approval.method,
      ...(approval.method === "proof_of_personhood" ? { approvalEnvironment: approval.environment } : {}),
    };
  } catch (error) {
    context.logger.warn({ err: error }, "the landing page has no example");
    return null;
  }
}

export default async function HomePage() {
  const example = await readExample();
  return <Home base={publicBaseUrl()} {...(example === null ? {} : { example })} />;
}
