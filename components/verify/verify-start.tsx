/** /verify: by id or link (a plain form), or from a file in the browser. */
import { Button } from "#components/ui/button";
import { Callout } from "#components/ui/callout";
import { describeControl, Field, Input } from "#components/ui/field";
import { TextLink } from "#components/ui/text-link";
import { toVisibleText } from "#lib/core/text/display-text";
import { LocalVerifier } from "./local-verifier";
import { Section } from "./section";

interface VerifyStartProps {
  /** What was asked for and is not known here. */
  readonly unknown: string | undefined;
}

export function VerifyStart({ unknown }: VerifyStartProps) {
  return (
    <div className="mx-auto max-w-3xl px-4 pt-10 sm:px-6 sm:pt-16">
      <h1 className="font-semibold text-3xl sm:text-4xl">Verify an attestation</h1>
      <p className="mt-3 text-lg text-muted">
        Enter its id or link, or choose a file that you received. No account needed.
      </p>
      <form action="/verify" className="mt-8 grid gap-3 sm:grid-cols-[minmax(0,1fr)_auto] sm:items-end">
        <Field id="q" label="Attestation id or link">
          <Input
            {...describeControl("q", {})}
            name="q"
            required
            maxLength={500}
            autoComplete="off"
            spellCheck={false}
            defaultValue={unknown ?? ""}
          />
        </Field>
        <Button type="submit">Verify</Button>
      </form>
      {unknown === undefined ? null : (
        <div className="mt-4">
          <Callout tone="warn" title="Unknown" alert>
            This instance has no attestation “<bdi>{toVisibleText(unknown)}</bdi>”. The link may be cut off or
            mistyped, or belong to another instance. Check the host name.
          </Callout>
        </div>
      )}
      <Section
        id="file-heading"
        title="From a file, in your browser"
        lead="The file never leaves your machine. Only the public keys are fetched from here, unless you add your own copy. Without JavaScript, use the offline verifier."
      >
        <LocalVerifier />
      </Section>
      <p className="mt-8 text-[15px] text-muted">
        If someone made a zero-knowledge presentation for you, check it on{" "}
        <TextLink href="/verify/presentation">its own page</TextLink>. To depend on nothing that we serve, use
        the <TextLink href="/docs/verify-offline">offline verifier</TextLink>.
      </p>
    </div>
  );
}
