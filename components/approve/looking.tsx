"use client";
/** People who say that they are looking at a request. Opening the page says nothing: a button does. */
import { useRef, useState } from "react";
import { AgentText } from "#components/agent-text";
import { Button } from "#components/ui/button";
import { Timestamp } from "#components/ui/timestamp";
import { useIsReady } from "#components/ui/use-is-ready";
import { useKeptFocus } from "#components/ui/use-kept-focus";
import type { ApprovalView } from "#lib/api/schemas/approval-view";

interface LookingProps {
  readonly view: ApprovalView;
  readonly look: () => Promise<unknown>;
}

export function Looking({ view, look }: LookingProps) {
  const isReady = useIsReady();
  const [isTold, setIsTold] = useState(false);
  const status = useRef<HTMLParagraphElement>(null);
  useKeptFocus(status, isTold);
  return (
    <div className="flex flex-wrap items-center justify-between gap-3 text-[15px]">
      <p ref={status} tabIndex={-1} className="text-muted outline-none" role="status">
        {view.looking.length === 0 && !isTold ? "Let the others know:" : null}
        {view.looking.map(({ name, at }) => (
          <span key={name} className="block">
            {name === "" ? "Somebody with the link" : <AgentText value={name} isName hideWarnings />} is
            looking at it, <Timestamp iso={at} />.
          </span>
        ))}
        {isTold ? <span className="block">The others see that you are looking at it.</span> : null}
      </p>
      <Button
        variant="secondary"
        size="small"
        disabled={!isReady || isTold}
        onClick={() => {
          setIsTold(true);
          void look();
        }}
      >
        I'm looking at it
      </Button>
    </div>
  );
}
