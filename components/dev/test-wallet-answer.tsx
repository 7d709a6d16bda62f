"use client";
/** The answering human, credential and kind of proof: a real one takes about two seconds. */
import { useState } from "react";
import { Button } from "#components/ui/button";
import { Callout } from "#components/ui/callout";
import { Card } from "#components/ui/card";
import {
  sendWalletAnswer,
  type WalletDecision,
  type WalletHuman,
  type WalletLink,
  type WalletRequest,
} from "./wallet-api";

type Level = "orb" | "device";
type State =
  | { kind: "choosing" }
  | { kind: "working"; isProof: boolean }
  | { kind: "sent"; what: string }
  | { kind: "failed"; error: string };

const levelNames = { orb: "Orb", device: "Device" } as const;

function usableLevels(human: WalletHuman, request: WalletRequest): Level[] {
  return human.levels.filter((level) => level === "orb" || request.required_level === "device");
}

interface ChoiceProps {
  readonly request: WalletRequest;
  readonly human: string;
  readonly level: Level;
  readonly onHuman: (id: string) => void;
  readonly onLevel: (level: Level) => void;
}

function Choice({ request, human, level, onHuman, onLevel }: ChoiceProps) {
  const chosen = request.humans.find(({ id }) => id === human);
  const levels = chosen === undefined ? [] : usableLevels(chosen, request);
  const row = "flex min-h-11 items-center gap-3 text-[15px]";
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <fieldset>
        <legend className="font-medium text-[15px]">Test human</legend>
        {request.humans.map(({ id, name, levels: held }) => (
          <label key={id} className={row}>
            <input
              type="radio"
              name="human"
              value={id}
              checked={human === id}
              onChange={() => onHuman(id)}
              className="size-5 shrink-0 accent-[var(--accent-fill)]"
            />
            <span>
              {name}{" "}
              <span className="text-muted text-sm">({held.map((each) => levelNames[each]).join(", ")})</span>
            </span>
          </label>
        ))}
      </fieldset>
      <fieldset>
        <legend className="font-medium text-[15px]">Answer with</legend>
        {(["orb", "device"] as const).map((each) => (
          <label key={each} className={row}>
            <input
              type="radio"
              name="level"
              value={each}
              checked={level === each}
              disabled={!levels.includes(each)}
              onChange={() => onLevel(each)}
              className="size-5 shrink-0 accent-[var(--accent-fill)]"
            />
            {levelNames[each]}
          </label>
        ))}
      </fieldset>
    </div>
  );
}

/** Mimics a real wallet, which can't know whether the request accepts less than it asks for. */
function Lacking({ name }: { readonly name: string }) {
  return (
    <p className="mt-3 text-[15px]">
      {name} has no World ID verified with an Orb, which this code asks for. Choose Approve to tell the
      approval page: if the request accepts one verified on a device, the page offers to ask for that.
    </p>
  );
}

function Sent({ what }: { readonly what: string }) {
  if (what === "proof") {
    return (
      <Callout tone="pass" title="The proof was sent" alert>
        Go back to the approval page. The result appears there shortly.
      </Callout>
    );
  }
  return (
    <Callout tone="info" title={what === "user_rejected" ? "Refused" : "The wallet could not answer"} alert>
      The approval page received: {what.replaceAll("_", " ")}. Nothing was approved.
    </Callout>
  );
}

export function TestWalletAnswer({
  link,
  request,
}: {
  readonly link: WalletLink;
  readonly request: WalletRequest;
}) {
  const first = request.humans.find(({ can_answer }) => can_answer);
  const [human, setHuman] = useState(first?.id ?? "");
  const [level, setLevel] = useState<Level>("orb");
  const [state, setState] = useState<State>({ kind: "choosing" });

  const chosen = request.humans.find(({ id }) => id === human);
  function chooseHuman(id: string): void {
    setHuman(id);
    const found = request.humans.find((each) => each.id === id);
    const levels = found === undefined ? [] : usableLevels(found, request);
    if (levels[0] !== undefined && !levels.includes(level)) setLevel(levels[0]);
  }

  async function answer(decision: WalletDecision): Promise<void> {
    setState({ kind: "working", isProof: decision.decision === "approve" });
    const outcome = await sendWalletAnswer(link, decision);
    setState(
      "sent" in outcome ? { kind: "sent", what: outcome.sent } : { kind: "failed", error: outcome.error },
    );
  }

  if (state.kind === "sent") return <Sent what={state.what} />;
  const isWorking = state.kind === "working";
  return (
    <Card title="Answer as">
      <Choice request={request} human={human} level={level} onHuman={chooseHuman} onLevel={setLevel} />
      {chosen === undefined || chosen.can_answer ? null : <Lacking name={chosen.name} />}
      <div className="mt-4 grid grid-cols-2 gap-3">
        <Button
          variant="secondary"
          size="large"
          disabled={isWorking}
          onClick={() => void answer({ decision: "reject" })}
        >
          Refuse
        </Button>
        <Button
          variant="secondary"
          size="large"
          disabled={isWorking || human === ""}
          onClick={() => void answer({ decision: "approve", human, level })}
        >
          Approve
        </Button>
      </div>
      <div role="status" className="mt-3 text-[15px]">
        {isWorking && state.isProof ? (
          <p className="flex items-center gap-3">
            <span className="inline-block size-4 animate-spin rounded-full border-2 border-line-strong border-t-transparent" />
            Making a zero-knowledge proof, about two seconds …
          </p>
        ) : null}
      </div>
      {state.kind === "failed" ? (
        <Callout tone="fail" title="Not sent" alert>
          {state.error}
        </Callout>
      ) : null}
    </Card>
  );
}
