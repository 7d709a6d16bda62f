"use client";
/** Content of an approval, byte for byte, and the result of the visitor's browser, which computed the hash again. */
import { useEffect, useState } from "react";
import { AgentText } from "#components/agent-text";
import { CopyButton } from "#components/ui/copy-button";
import { DefinitionList } from "#components/ui/definition-list";
import { StatusPill } from "#components/ui/status-pill";
import type { ApprovalView } from "#lib/api/schemas/approval-view";
import { canonicalJson, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { DifferenceAlert } from "./difference-alert";

/** Undefined until the browser has computed it; null if it could not. */
function useDifferences(view: ApprovalView): string[] | null | undefined {
  const [differences, setDifferences] = useState<string[] | null>();
  useEffect(() => {
    let isCurrent = true;
    import("./check-shown")
      .then(({ findDifferences }) => isCurrent && setDifferences(findDifferences(view)))
      .catch(() => isCurrent && setDifferences(null));
    return () => {
      isCurrent = false;
    };
  }, [view]);
  return differences;
}

function BrowserSays({ differences }: { readonly differences: string[] | null | undefined }) {
  if (differences === undefined)
    return <StatusPill tone="neutral">Your browser hasn't checked the hash</StatusPill>;
  if (differences === null) return <StatusPill tone="warn">Your browser couldn't check the hash</StatusPill>;
  return differences.length === 0 ? (
    <StatusPill tone="pass">Your browser computed the same hash</StatusPill>
  ) : (
    <StatusPill tone="fail">Your browser computed a different hash</StatusPill>
  );
}

function Exact({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <span className="flex items-start gap-2">
      <span className="min-w-0 break-all font-mono text-[13px]">
        <AgentText value={text} hideWarnings />
      </span>
      <CopyButton text={text} label={label} />
    </span>
  );
}

export function CoverageDetails({ view }: { readonly view: ApprovalView }) {
  const differences = useDifferences(view);
  const { binding } = view;
  const exact = [
    { id: "request", name: "Request, as hashed", text: canonicalJson({ ...view.request }) },
    { id: "hash", name: "Request hash (SHA-256)", text: binding.request_hash },
    { id: "salt", name: "Salt of the details and names", text: view.context_salt },
    ...(view.agent.public_key === null
      ? []
      : [{ id: "key", name: "Agent's key (Ed25519)", text: view.agent.public_key }]),
    ...(view.requested_by === null
      ? []
      : [
          {
            id: "asker",
            name: "Who asks, as hashed",
            text: canonicalJson(view.requested_by as unknown as JsonObject),
          },
        ]),
    ...(view.required_level === "none"
      ? []
      : [
          { id: "action", name: "World ID action", text: binding.world_action },
          { id: "signal", name: "World ID signal", text: binding.signal },
        ]),
  ];
  return (
    <>
      {differences && differences.length > 0 ? (
        <DifferenceAlert differences={differences} where="page" />
      ) : null}
      <details className="rounded-lg border border-line bg-surface">
        <summary className="min-h-11 px-4 py-3 text-[15px] sm:px-5">
          <span className="mr-2 font-medium">What the approval covers, byte for byte</span>
          <BrowserSays differences={differences} />
        </summary>
        <div className="px-4 pb-4 sm:px-5">
          <p className="text-[15px] text-muted">
            {view.required_level === "none"
              ? null
              : "The World ID proof covers the signal below, which is the SHA-256 of the request. "}
            {view.groups.length === 0
              ? null
              : "Each passkey signs the request hash below together with the decision. "}
            The request contains the agent, its key, the action and a salted hash of the details, of the names
            and of everything else about who asks, so what approves it fits no other request.
          </p>
          <div className="mt-2">
            <DefinitionList
              items={exact.map(({ id, name, text }) => ({
                id,
                name,
                value: <Exact text={text} label={name} />,
              }))}
            />
          </div>
        </div>
      </details>
    </>
  );
}
