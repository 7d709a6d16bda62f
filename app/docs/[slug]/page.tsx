import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { findGuide } from "#components/guides/guides";
import { Markdown, OnThisPage } from "#components/markdown";
import { NotFoundPage } from "#components/not-found-page";
import { TextLink } from "#components/ui/text-link";
import { publicBaseUrl } from "#lib/api/http/host-check";
import { withNotFound } from "#lib/server/pages/with-not-found";
import { describePrograms } from "#lib/services/attestations/receipt-files";

interface GuidePageProps {
  readonly params: Promise<{ slug: string }>;
}

export async function generateMetadata({ params }: GuidePageProps): Promise<Metadata> {
  const guide = findGuide((await params).slug, publicBaseUrl(), null);
  if (guide === null) return { title: "Not found" };
  return {
    title: guide.title,
    description: guide.description,
    alternates: { canonical: `/docs/${guide.slug}`, types: { "text/markdown": `/docs/${guide.slug}.md` } },
  };
}

async function GuidePage({ params }: GuidePageProps) {
  const guide = findGuide((await params).slug, publicBaseUrl(), await describePrograms());
  if (guide === null) notFound();
  return (
    <div className="xl:grid xl:grid-cols-[minmax(0,1fr)_14rem] xl:gap-x-10">
      <OnThisPage text={guide.text} />
      <article className="min-w-0">
        <Markdown text={guide.text} />
        <p className="no-print mt-16 border-line border-t pt-4 text-muted text-sm">
          <TextLink href={`/docs/${guide.slug}.md`}>This page as Markdown</TextLink>
        </p>
      </article>
    </div>
  );
}

export default withNotFound(GuidePage, NotFoundPage);
