/** A secret that is shown this once. */
import { Callout } from "#components/ui/callout";
import { CodeBlock } from "#components/ui/code-block";

interface SecretRevealProps {
  readonly title: string;
  readonly label: string;
  readonly secret: string;
  readonly note: string;
}

export function SecretReveal({ title, label, secret, note }: SecretRevealProps) {
  return (
    <div className="flex flex-col gap-3" data-testid="secret">
      <Callout tone="warn" title={title} alert>
        {note}
      </Callout>
      <CodeBlock code={secret} label={label} wrap />
    </div>
  );
}
