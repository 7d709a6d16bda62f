/** /verify: by id or link (a plain form), or from a file in the browser. */
import { Button } from "#components/ui/button";
import { Callout } from "#components/ui/callout";
import { describeControl, Field, Input } from "#components/ui/field";
import { TextLink } from "#components/ui/text-link";
import type { SearchResponse } from "#lib/api/schemas/identity";
import { formatCount, toVisibleText } from "#lib/protocol/text/display-text";
import { FindByFile } from "./find-by-file";
import { LocalVerifier } from "./local-verifier";
import { SearchResults } from "./search-results";
import { Section } from "./section";

interface VerifyStartProps {
  /** Search text, and its results; null if nothing was searched for. */
  readonly searched: { readonly text: string; readonly found: SearchResponse } | null;
}

function Searched({ text, found }: NonNullable<VerifyStartProps["searched"]>) {
  if (found.results.length > 0)
    return (
      <div className="mt-6">
        <h2 className="mb-3 font-semibold text-xl">
          {formatCount(found.results.length, "public attestation")}
        </h2>
        <SearchResults found={found} />
      </div>
    );
  return (
    <div className="mt-4">
      <Callout tone="warn" title="Nothing found" alert>
        This instance has no public attestation for “<bdi>{toVisibleText(text)}</bdi>”. It may be cut off or
        mistyped, or belong to another instance. Check the host name.
      </Callout>
    </div>
  );
}

export function VerifyStart({ searched }: VerifyStartProps) {
  return (
    <div className="mx-auto max-w-3xl px-4 pt-10 sm:px-6 sm:pt-16">
      <h1 className="font-semibold text-3xl sm:text-4xl">Verify an attestation</h1>
      <p className="mt-3 text-lg text-muted">
        Enter what you have, or choose a file that you received. No account needed.
      </p>
      <form action="/verify" className="mt-8 grid gap-3 sm:grid-cols-[minmax(0,1fr)_auto] sm:items-end">
        <Field id="q" label="Attestation id or link, hash, request id or log index">
          <Input
            {...describeControl("q", {})}
            name="q"
            required
            maxLength={500}
            autoComplete="off"
            spellCheck={false}
            defaultValue={searched?.text ?? ""}
          />
        </Field>
        <Button type="submit">Verify</Button>
      </form>
      {searched === null ? null : <Searched {...searched} />}
      <Section
        id="file-heading"
        title="Verify a receipt or an evidence pack, in your browser"
        lead="The file never leaves your machine. Only the public keys are fetched from here, unless you add your own copy. Without JavaScript, use the offline verifier."
      >
        <LocalVerifier />
      </Section>
      <Section
        id="by-file-heading"
        title="Find reports about a file"
        lead="For a file that an agent worked with. Your browser hashes it and sends only the hash."
      >
        <FindByFile />
      </Section>
      <p className="mt-8 text-[15px] text-muted">
        If someone made a zero-knowledge presentation for you, check it on{" "}
        <TextLink href="/verify/presentation">its own page</TextLink>.{" "}
        <TextLink href="/docs/evidence-pack">What an evidence pack proves</TextLink>. To depend on nothing
        that we serve, use the <TextLink href="/docs/verify-offline">offline verifier</TextLink>.
      </p>
    </div>
  );
}
