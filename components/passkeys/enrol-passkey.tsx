"use client";
/** The button that enrols the device in hand, or another one that the browser offers. */
import { useRef, useState } from "react";
import { Button } from "#components/ui/button";
import { Callout } from "#components/ui/callout";
import { useRefresh } from "#components/ui/router";
import { TextLink } from "#components/ui/text-link";
import { useIsReady } from "#components/ui/use-is-ready";
import { useKeptFocus } from "#components/ui/use-kept-focus";
import { approveNext, type PasskeyActions } from "./passkey-actions";

/** Explains why the browser gave no passkey (WebAuthn level 3, section 5.1.3). */
function explain(error: unknown): string {
  const name = error instanceof Error ? error.name : "";
  if (name === "InvalidStateError") return "This device already has a passkey for you.";
  if (name === "NotAllowedError" || name === "AbortError")
    return "Nothing was added: you cancelled, or it took too long.";
  if (name === "NotSupportedError" || name === "ConstraintError")
    return "This device can't make a passkey with a screen lock. Set one up, or use another device.";
  if (name === "SecurityError") return "The browser refuses passkeys on this address.";
  return "We don't know whether this went through. Reload to see.";
}

/** A first name for it; people rename what they don't like. */
function guessName(userAgent: string): string {
  const known = [/iPhone/, /iPad/, /Android/, /Mac/, /Windows/, /CrOS/, /Linux/] as const;
  const words = ["iPhone", "iPad", "Android", "Mac", "Windows", "Chromebook", "Linux"];
  return words[known.findIndex((pattern) => pattern.test(userAgent))] ?? "Passkey";
}

async function enrol({ begin, finish }: Pick<PasskeyActions, "begin" | "finish">): Promise<string | null> {
  const options = await begin();
  if (!options.ok) return options.message;
  const { startRegistration } = await import("@simplewebauthn/browser");
  const response = await startRegistration({ optionsJSON: options.value });
  const done = await finish(guessName(navigator.userAgent), response);
  return done.ok ? null : done.message;
}

interface EnrolPasskeyProps {
  readonly actions: Pick<PasskeyActions, "begin" | "finish">;
  readonly isFirst: boolean;
  /** Replaces the usual words. */
  readonly label?: string;
}

export function EnrolPasskey({ actions, isFirst, label }: EnrolPasskeyProps) {
  const words = label ?? (isFirst ? "Create a passkey" : "Add another passkey");
  const [state, setState] = useState<{ isBusy: boolean; problem: string | null; isDone?: boolean }>({
    isBusy: false,
    problem: null,
  });
  const isReady = useIsReady();
  const refresh = useRefresh();
  const frame = useRef<HTMLDivElement>(null);
  useKeptFocus(frame, state.isBusy);
  async function add(): Promise<void> {
    setState({ isBusy: true, problem: null });
    const problem = await enrol(actions).catch(explain);
    setState({ isBusy: false, problem, isDone: problem === null });
    if (problem === null) await refresh();
  }
  return (
    <div ref={frame} tabIndex={-1} className="flex flex-col items-start gap-2 outline-none">
      <Button
        size={isFirst ? "large" : "medium"}
        variant={isFirst ? "primary" : "secondary"}
        disabled={!isReady || state.isBusy}
        onClick={() => void add()}
      >
        {state.isBusy ? "Waiting for your device…" : words}
      </Button>
      <noscript>
        <p className="text-muted text-sm">Passkeys need JavaScript.</p>
      </noscript>
      <p role="status" className="font-medium text-fail text-sm empty:hidden">
        {state.problem}
      </p>
      {state.isDone ? (
        <Callout tone="pass" title="Passkey created" alert>
          {approveNext} Requests that wait are also in your <TextLink href="/portal/inbox">inbox</TextLink>.
        </Callout>
      ) : null}
    </div>
  );
}
