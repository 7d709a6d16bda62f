/** The first calls of an agent with its own slug, in three languages, ready to paste. */
import { CodeTabs } from "#components/api-reference/code-tabs";
import type { Sample } from "#components/api-reference/samples";
import { TextLink } from "#components/ui/text-link";

export interface OwnSample {
  /** The permission that the call needs. */
  readonly scope: string;
  readonly label: string;
  readonly samples: readonly Sample[];
}

export function OwnSamples({ samples }: { readonly samples: readonly OwnSample[] }) {
  return (
    <div className="flex flex-col gap-6">
      {samples.map(({ label, samples: inLanguages }) => (
        <div key={label} className="min-w-0">
          <h3 className="mb-2 font-medium text-[15px]">{label}</h3>
          <CodeTabs samples={inLanguages} label={label} />
        </div>
      ))}
      <p className="text-muted text-sm">
        With an API key in COUNTERSIGN_API_KEY. TypeScript uses the{" "}
        <TextLink href="/docs/client">client library</TextLink>, Python{" "}
        <TextLink href="/docs/python">its own</TextLink>.
      </p>
    </div>
  );
}
