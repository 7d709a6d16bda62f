"use client";
/**
 * The stand-in's wallet: shows what was asked over the bridge and answers it as a test human, with a real proof or a
 * refusal. World's real wallet is an app on a person's phone; this page belongs to no person.
 */
import { useEffect, useState } from "react";
import { AgentText } from "#components/agent-text";
import { Callout } from "#components/ui/callout";
import { Card } from "#components/ui/card";
import { DefinitionList } from "#components/ui/definition-list";
import { TestMark } from "#components/ui/status-pill";
import { levelWords } from "#lib/api/schemas/approval-page";
import { TestWalletAnswer } from "./test-wallet-answer";
import { readWalletRequest, type WalletLink, type WalletRequest } from "./wallet-api";

type Loaded = WalletRequest | "unknown" | undefined;

function Asked({ request }: { readonly request: WalletRequest }) {
  const items = [
    ...(request.action_description === null
      ? []
      : [
          {
            id: "description",
            name: "What the page says it is for",
            value: <AgentText value={request.action_description} />,
            prominent: true,
          },
        ]),
    {
      id: "level",
      name: "Required proof",
      value: levelWords[request.required_level === "device" ? "device" : "orb"],
    },
    { id: "app", name: "App", value: <Mono text={request.app_id} /> },
    { id: "action", name: "World ID action", value: <Mono text={request.action} /> },
    { id: "signal", name: "Hash of the signal", value: <Mono text={request.signal_hash} /> },
    { id: "environment", name: "Environment", value: <Mono text={request.environment} /> },
  ];
  return (
    <Card title="What is asked">
      <div className="-my-2.5">
        <DefinitionList items={items} />
      </div>
    </Card>
  );
}

function Mono({ text }: { readonly text: string }) {
  return (
    <span className="break-all font-mono text-sm">
      <AgentText value={text} hideWarnings />
    </span>
  );
}

function Content({ link, loaded }: { readonly link: WalletLink | null; readonly loaded: Loaded }) {
  if (link === null) {
    return (
      <Callout tone="info" title="No request">
        Open an approval page and choose “Approve with World ID”. Its code or link leads here.
      </Callout>
    );
  }
  if (loaded === undefined) return <p role="status">Fetching the request from the bridge …</p>;
  if (loaded === "unknown") {
    return (
      <Callout tone="fail" title="Request not found" alert>
        It has expired or was answered, or the link is incomplete. Start again on the approval page.
      </Callout>
    );
  }
  return (
    <>
      <Asked request={loaded} />
      <TestWalletAnswer link={link} request={loaded} />
    </>
  );
}

export function TestWallet({ link }: { readonly link: WalletLink | null }) {
  const [loaded, setLoaded] = useState<Loaded>();
  const id = link?.id;
  const key = link?.key;
  useEffect(() => {
    if (id === undefined || key === undefined) return;
    let isCurrent = true;
    void readWalletRequest({ id, key }).then((request) => isCurrent && setLoaded(request ?? "unknown"));
    return () => {
      isCurrent = false;
    };
  }, [id, key]);
  return (
    <div className="mx-auto max-w-2xl px-4 pt-6 sm:px-6 sm:pt-10">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <h1 className="font-semibold text-2xl sm:text-3xl">Test wallet</h1>
        <TestMark />
      </div>
      <div className="mt-4 flex flex-col gap-4">
        <Callout tone="test" title="This isn't the World App, and its humans aren't real people">
          It stands in for World ID on a developer's machine. Its proofs are real zero-knowledge proofs about
          test humans whose secrets are public: what is approved here is permanently marked TEST. Like a
          wallet from before World ID 4.0, it answers with the 3.0 credential that a request accepts in its
          place.
        </Callout>
        <noscript>
          <p>This page needs JavaScript to fetch the request from the bridge.</p>
        </noscript>
        <Content link={link} loaded={loaded} />
      </div>
    </div>
  );
}
