"use client";
import { useMemo, useState } from "react";
import { SecretReveal } from "#components/portal/keys/secret-reveal";
import { Button } from "#components/ui/button";
import { Checkbox, describeControl, Field, Textarea } from "#components/ui/field";
/**
 * The public key of an agent: pasted, or generated here. The private half lives in this page's memory and on the
 * screen; no field of the form holds it, so it is in no request.
 */
import { KeyIcon } from "#components/ui/icons";
import { useIsReady } from "#components/ui/use-is-ready";
import { encodePrivateKeyPem, SEED_BYTES } from "#lib/protocol/keys/agent-seed";
import { derivePublicKeyPem, provePossession } from "#lib/protocol/keys/ed25519";

interface AgentKeyFieldProps {
  /** The proof of possession names it. */
  readonly slug: string;
  readonly defaultValue: string;
  readonly error: string | undefined;
}

interface Generated {
  seed: Uint8Array;
  publicPem: string;
}

function generate(): Generated {
  const seed = crypto.getRandomValues(new Uint8Array(SEED_BYTES));
  return { seed, publicPem: derivePublicKeyPem(seed) };
}

export function AgentKeyField({ slug, defaultValue, error }: AgentKeyFieldProps) {
  const isReady = useIsReady();
  const [text, setText] = useState(defaultValue);
  const [generated, setGenerated] = useState<Generated | null>(null);
  const own = generated !== null && generated.publicPem === text ? generated : null;
  const proof = useMemo(() => (own === null ? "" : provePossession(own.seed, slug)), [own, slug]);
  return (
    <div className="flex flex-col gap-4">
      <Field
        id="agent-key"
        label="Public key"
        hint="Ed25519, as PEM or base64 of its 32 bytes. New attestations are checked against it."
        error={error}
      >
        <Textarea
          {...describeControl("agent-key", { hint: true, error })}
          name="public_key_pem"
          rows={4}
          value={text}
          onChange={(event) => setText(event.target.value)}
          spellCheck={false}
          autoComplete="off"
          className="font-mono text-sm"
        />
      </Field>
      <input type="hidden" name="proof_of_possession" value={proof} />
      <div>
        <Button
          variant="secondary"
          disabled={!isReady}
          onClick={() => {
            const made = generate();
            setGenerated(made);
            setText(made.publicPem);
          }}
        >
          <KeyIcon aria-hidden="true" className="size-4" />
          Generate a key pair in this browser
        </Button>
      </div>
      {own ? (
        <>
          <SecretReveal
            title="Copy the private key now"
            label="private key of the agent"
            secret={encodePrivateKeyPem(own.seed)}
            note="It was generated on this page and isn't sent to us. It's gone when you leave. Give it only to the agent."
          />
          <Checkbox required label="I've stored the private key where the agent can read it" />
        </>
      ) : null}
    </div>
  );
}
