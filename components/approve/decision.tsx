"use client";
import dynamic from "next/dynamic";
import { useRef, useState } from "react";
import { Button } from "#components/ui/button";
import { Callout } from "#components/ui/callout";
/** Deny and Approve, of equal weight; Enter is bound to neither, and nothing is sent before a second step. */
import { IdentificationIcon, KeyIcon, XCircleIcon } from "#components/ui/icons";
import { useIsReady } from "#components/ui/use-is-ready";
import { useKeptFocus } from "#components/ui/use-kept-focus";
import type { ApprovalView } from "#lib/api/schemas/approval-view";
import { questionLimits } from "#lib/protocol/approval/amendment";
import { CodeField, WrongCodes } from "./code-field";
import { DecisionBar } from "./decision-bar";
import { DenyForm, DenyFormPlain } from "./deny-form";
import { GroupsNeeded } from "./groups-needed";
import { PasskeyPanel } from "./passkey-panel";
import { listShown, Unseen } from "./unseen";
import { useIsOnScreen, useUnseen } from "./use-seen";

/** World's wallet code is 870 KB of WebAssembly: it is fetched when somebody wants to approve. */
const WorldIdPanel = dynamic(() => import("./world-id-panel").then((module) => module.WorldIdPanel), {
  ssr: false,
  loading: () => <p className="text-muted">Loading World ID …</p>,
});

const ChangeForm = dynamic(() => import("./change-form").then((module) => module.ChangeForm), {
  ssr: false,
  loading: () => <p className="text-muted">Loading …</p>,
});
const AskForm = dynamic(() => import("./ask-form").then((module) => module.AskForm), {
  ssr: false,
  loading: () => <p className="text-muted">Loading …</p>,
});

const codeFieldId = "code";

/** The same for both, with room for two lines on a phone. */
const buttonShape = "leading-tight max-sm:px-3 max-sm:text-base";

interface DecisionProps {
  readonly view: ApprovalView;
  readonly token: string;
  readonly onChange: () => void;
  /** Called when this visitor's own approval was counted. */
  readonly onCounted: () => void;
}

interface WithoutScriptProps {
  readonly view: ApprovalView;
  readonly token: string;
  readonly asksCode: boolean;
  readonly isByPasskey: boolean;
}

function WithoutScript({ view, token, asksCode, isByPasskey }: WithoutScriptProps) {
  return (
    <noscript>
      <div className="flex flex-col gap-4">
        <Callout tone="info" title="Approving needs JavaScript">
          Your browser computes this page's hash and talks to your wallet or passkey, which needs JavaScript.
          {isByPasskey ? " So does denying: your passkey signs it." : " You can deny without it."}
        </Callout>
        {isByPasskey ? null : <DenyFormPlain view={view} token={token} asksCode={asksCode} />}
      </div>
    </noscript>
  );
}

function MoreNeeded({ approvals }: { readonly approvals: ApprovalView["approvals"] }) {
  const missing = approvals.required - approvals.given;
  if (approvals.given === 0) return null;
  return (
    <Callout
      tone="info"
      title={missing === 1 ? "One more approval is needed" : `${missing} more approvals are needed`}
    >
      {approvals.given === 1 ? "One person has" : `${approvals.given} people have`} approved. Each approval
      must come from a different person. One denial ends the request.
    </Callout>
  );
}

type Choice = "none" | "deny" | "approve" | "change" | "ask";

/** Shown until the page has the new state. */
function Denied() {
  return (
    <Callout tone="pass" title="You denied." alert>
      The decision will appear here shortly.
    </Callout>
  );
}

interface ChoicesProps {
  readonly view: ApprovalView;
  readonly choice: Choice;
  readonly isReady: boolean;
  readonly isByPasskey: boolean;
  readonly onChoose: (choice: Choice) => void;
}

/** One question at a time, and only a few in all. */
const mayAsk = ({ questions }: ApprovalView) =>
  questions.length < questionLimits.count && questions.every(({ answer }) => answer !== null);

function Choices({ view, choice, isReady, isByPasskey, onChoose }: ChoicesProps) {
  const describe = (one: Choice) => ({
    size: "large" as const,
    className: buttonShape,
    disabled: !isReady || (view.is_frozen && one !== "deny"),
    "aria-expanded": choice === one,
    onClick: () => onChoose(one),
  });
  return (
    <div className="grid grid-cols-2 gap-3">
      <Button variant="neutral" {...describe("deny")}>
        <XCircleIcon aria-hidden="true" className="size-5 shrink-0" />
        Deny
      </Button>
      <Button variant="primary" {...describe("approve")}>
        {isByPasskey ? (
          <KeyIcon aria-hidden="true" className="size-5 shrink-0" />
        ) : (
          <IdentificationIcon aria-hidden="true" className="size-5 shrink-0" />
        )}
        Approve with {isByPasskey ? "passkey" : "World ID"}
      </Button>
      {view.request.amendable === undefined ? null : (
        <Button variant="secondary" {...describe("change")}>
          Change, then approve
        </Button>
      )}
      {mayAsk(view) ? (
        <Button
          {...describe("ask")}
          variant={view.request.amendable === undefined ? "quiet" : "secondary"}
          size={view.request.amendable === undefined ? "medium" : "large"}
          className={view.request.amendable === undefined ? "col-span-2" : buttonShape}
        >
          Ask a question
        </Button>
      ) : null}
    </div>
  );
}

export function Decision({ view, token, onChange, onCounted }: DecisionProps) {
  const [choice, setChoice] = useState<Choice>("none");
  const [turn, setTurn] = useState(0);
  const [code, setCode] = useState("");
  const lacksCode = view.code_tries_left !== null && code.trim() === "";
  const [isCodeMissed, setIsCodeMissed] = useState(false);
  const isReady = useIsReady();
  const [section, setSection] = useState<HTMLElement | null>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const isOnScreen = useIsOnScreen(section);
  const { unseen, show } = useUnseen(view.request_id, listShown(view));
  const [isInformed, setIsInformed] = useState(false);
  /** The visitor's own decision was counted: nothing is left to press, whoever else has to decide. */
  const [isDone, setIsDone] = useState(false);
  useKeptFocus(heading, isDone);
  const isByPasskey = view.groups.length > 0;
  const Panel = isByPasskey ? PasskeyPanel : WorldIdPanel;

  function choose(chosen: Choice): void {
    setIsCodeMissed(lacksCode);
    if (lacksCode) {
      document.getElementById(codeFieldId)?.focus();
      return;
    }
    setChoice(chosen);
    setTurn((before) => before + 1);
    // A person who has seen all when they choose is not asked again.
    if (chosen === "approve" && unseen.length === 0) setIsInformed(true);
  }
  /** The form goes, and the focus with it. */
  function closeQuestion(): void {
    setChoice("none");
    heading.current?.focus();
  }
  function countOwn(): void {
    setIsDone(true);
    onCounted();
  }
  const way = { view, token, code, turn, isRead: unseen.length === 0, onChange };
  return (
    <section ref={setSection} aria-labelledby="decision" className="flex flex-col gap-4">
      <h2 ref={heading} id="decision" tabIndex={-1} className="mt-2 font-semibold text-xl outline-none">
        Your decision
      </h2>
      {isDone ? null : isByPasskey ? <GroupsNeeded view={view} /> : <MoreNeeded approvals={view.approvals} />}
      {isDone || view.code_tries_left === null ? null : (
        <>
          <WrongCodes triesLeft={view.code_tries_left} />
          <div className={isReady ? "" : "invisible noscript:hidden"}>
            <CodeField id={codeFieldId} value={code} onType={setCode} isMissed={isCodeMissed && lacksCode} />
          </div>
        </>
      )}
      {isDone ? null : (
        <Choices choice={choice} isReady={isReady} view={view} isByPasskey={isByPasskey} onChoose={choose} />
      )}
      {choice !== "deny" ? null : isDone ? <Denied /> : <DenyForm {...way} onSent={() => setIsDone(true)} />}
      {choice === "change" ? <ChangeForm {...way} /> : null}
      {choice === "ask" && mayAsk(view) ? (
        <AskForm
          view={view}
          token={token}
          code={code}
          turn={turn}
          onChange={onChange}
          onSent={closeQuestion}
        />
      ) : null}
      {choice === "approve" && !isInformed ? (
        <Unseen
          details={unseen}
          to={isByPasskey ? "your passkey" : "World ID"}
          onShow={show}
          onContinue={() => setIsInformed(true)}
        />
      ) : null}
      {choice === "approve" && isInformed ? <Panel {...way} onCounted={countOwn} /> : null}
      {isDone ? null : (
        <DecisionBar
          view={view}
          isReady={isReady}
          isHidden={isOnScreen}
          onChoose={(chosen) => {
            choose(chosen);
            section?.scrollIntoView({ block: "start" });
          }}
        />
      )}
      <WithoutScript
        view={view}
        token={token}
        asksCode={view.code_tries_left !== null}
        isByPasskey={isByPasskey}
      />
    </section>
  );
}
