"use client";
/** The button at the top of the portal for organizations that ask for a passkey before some of their acts. */
import type { PublicKeyCredentialRequestOptionsJSON } from "@simplewebauthn/browser";
import { useState } from "react";
import { Button } from "#components/ui/button";
import { useIsReady } from "#components/ui/use-is-ready";
import type { PasskeyAnswer } from "#lib/api/schemas/rosters";

interface ConfirmPasskeyProps {
  readonly begin: () => Promise<PasskeyAnswer<PublicKeyCredentialRequestOptionsJSON>>;
  readonly confirm: (response: unknown) => Promise<PasskeyAnswer>;
  readonly minutes: number;
}

type State = "idle" | "busy" | "confirmed" | { problem: string };

async function confirmBy({ begin, confirm }: ConfirmPasskeyProps): Promise<State> {
  const options = await begin();
  if (!options.ok) return { problem: options.message };
  const { startAuthentication } = await import("@simplewebauthn/browser");
  const done = await confirm(await startAuthentication({ optionsJSON: options.value }));
  return done.ok ? "confirmed" : { problem: done.message };
}

export function ConfirmPasskey(props: ConfirmPasskeyProps) {
  const [state, setState] = useState<State>("idle");
  const isReady = useIsReady();
  async function run(): Promise<void> {
    setState("busy");
    const failed = { problem: "Nothing was confirmed: you cancelled, or it took too long." };
    setState(await confirmBy(props).catch(() => failed));
  }
  return (
    <span className="flex flex-wrap items-center gap-2">
      <Button
        size="small"
        variant="secondary"
        disabled={!isReady || state === "busy"}
        onClick={() => void run()}
      >
        Confirm with a passkey
      </Button>
      <span role="status" className="text-sm empty:absolute">
        {state === "confirmed" ? `Confirmed for ${props.minutes} minutes.` : null}
        {typeof state === "object" ? <span className="font-medium text-fail">{state.problem}</span> : null}
      </span>
    </span>
  );
}
