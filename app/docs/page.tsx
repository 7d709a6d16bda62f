import type { Metadata } from "next";
import { docsGroups } from "#components/guides/guides-index";
import { PageLink } from "#components/ui/page-link";
import { TextLink } from "#components/ui/text-link";

export const metadata: Metadata = {
  title: "Documentation",
  description: "How to connect your agents, run an instance, and verify attestations.",
};

export default function DocsPage() {
  return (
    <>
      <h1 className="font-semibold text-[2rem] leading-tight">Documentation</h1>
      <p className="mt-3 max-w-[60ch] text-lg text-muted">
        How to connect your agents, run an instance, and verify what other people's agents did. Every guide is
        also available as Markdown: add <code className="font-mono text-base">.md</code> to its URL. Agents
        can start with <TextLink href="/llms.txt">llms.txt</TextLink>.
      </p>
      {docsGroups.map((group) => (
        <section key={group.title} aria-label={group.title} className="mt-10">
          <h2 className="font-semibold text-lg">{group.title}</h2>
          <ul className="mt-3 divide-y divide-line border-line border-y">
            {group.guides.map((guide) => (
              <li key={guide.slug}>
                <PageLink
                  href={`/docs/${guide.slug}`}
                  className="group grid gap-x-6 py-3.5 sm:grid-cols-[14rem_1fr]"
                >
                  <span className="font-medium text-accent group-hover:underline">{guide.title}</span>
                  <span className="text-muted">{guide.description}</span>
                </PageLink>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </>
  );
}
