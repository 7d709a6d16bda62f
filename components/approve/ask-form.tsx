"use client";
/** A question to the agent's side. Loaded when somebody wants to ask. */
import { type FormEvent, useEffect, useRef, useState } from "react";
import { Button } from "#components/ui/button";
import { Callout } from "#components/ui/callout";
import { describeControl, Field, Textarea } from "#components/ui/field";
import type { ApprovalView } from "#lib/api/schemas/approval-view";
import { questionLimits } from "#lib/protocol/approval/amendment";
import { postJson } from "./post-json";
import { explainUnsigned, signIfRequired } from "./sign-by-passkey";

interface AskFormProps {
  readonly view: ApprovalView;
  readonly token: string;
  readonly code: string;
  readonly turn: number;
  readonly onChange: () => void;
  readonly onSent: () => void;
}

export function AskForm({ view, token, code, turn, onChange, onSent }: AskFormProps) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const start = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (turn > 0) start.current?.focus();
  }, [turn]);

  async function send(event: FormEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    const question = String(new FormData(event.currentTarget).get("question") ?? "").trim();
    if (question === "") return setProblem("Write a question first.");
    setBusy(true);
    const signed = await signIfRequired(view, "ask");
    if (signed !== null && signed.kind !== "signed") {
      setBusy(false);
      return setProblem(explainUnsigned(signed).title);
    }
    const answer = await postJson(`/approve/${token}/ask`, {
      question,
      ...(code === "" ? {} : { code }),
      ...(signed === null ? {} : { passkey: signed.passkey }),
    });
    setBusy(false);
    onChange();
    if (answer.ok) return onSent();
    const { status, detail } = answer.problem;
    setProblem(
      status === 0 || status >= 500
        ? "We don't know whether your question went through. This page will show it."
        : `${detail.charAt(0).toUpperCase()}${detail.slice(1)}.`,
    );
  }

  return (
    <form
      ref={start}
      tabIndex={-1}
      onSubmit={(event) => void send(event)}
      className="flex flex-col gap-4 rounded-lg border border-line bg-surface p-4 outline-none sm:p-5"
    >
      <Field
        id="question"
        label="Your question"
        hint="The agent and its organization see it and can answer here. The time to decide doesn't change."
      >
        <Textarea
          {...describeControl("question", { hint: true })}
          name="question"
          rows={3}
          maxLength={questionLimits.question}
          disabled={busy}
        />
      </Field>
      {problem === null ? null : (
        <Callout tone="warn" title="Not asked" alert>
          {problem}
        </Callout>
      )}
      <Button type="submit" variant="neutral" disabled={busy}>
        {busy ? "Sending …" : view.groups.length > 0 ? "Ask with your passkey" : "Ask"}
      </Button>
    </form>
  );
}
