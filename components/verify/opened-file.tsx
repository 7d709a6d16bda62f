"use client";
/** Opens what a link gives, and verifies it in this browser; without JavaScript the button downloads it. */
import { type FormEvent, useRef } from "react";
import { AgentText } from "#components/agent-text";
import { Button } from "#components/ui/button";
import { DefinitionList } from "#components/ui/definition-list";
import { TextLink } from "#components/ui/text-link";
import { Timestamp } from "#components/ui/timestamp";
import { FileOutcome, useFileCheck } from "./file-check";
import { saveFile } from "./save-pdf";

interface OpenedFileProps {
  /** Address that the button posts to. */
  readonly action: string;
  readonly kind: "receipt" | "pack";
  readonly subject: string;
  readonly opening: "none" | "payee" | "all";
  readonly madeBy: string;
  readonly expiresAt: string;
}

const openings = {
  none: "Nothing that its approvals only hash",
  payee: "The payee",
  all: "All details, who asked, and approvers' names",
} as const;

const refusals: Record<number, string> = {
  // Links are made only of what can be opened.
  400: "what it showed was erased since the link was made",
  404: "the link has ended or was revoked",
  429: "it was opened too often in this hour; try again later",
};

async function fetchFile(action: string): Promise<File> {
  const response = await fetch(action, { method: "POST" }).catch(() => null);
  if (response === null) throw new Error("the service can't be reached");
  if (!response.ok)
    throw new Error(refusals[response.status] ?? `the service answered with ${response.status}`);
  const [, name = "opened"] =
    /filename="([^"]+)"/.exec(response.headers.get("content-disposition") ?? "") ?? [];
  return new File([await response.blob()], name);
}

export function OpenedFile({ action, kind, subject, opening, madeBy, expiresAt }: OpenedFileProps) {
  const pinned = useRef(Promise.resolve<string | null>(null));
  const file = useRef<File>(null);
  const check = useFileCheck(pinned);
  const { outcome, takeLater } = check;
  const isBusy = outcome.phase === "running" || outcome.phase === "counting";
  const isOpen = outcome.phase === "done" || outcome.phase === "pack";
  function open(event: FormEvent): void {
    event.preventDefault();
    if (isBusy) return;
    void takeLater(async () => {
      file.current = await fetchFile(action);
      return file.current;
    });
  }
  const about = (
    <div className="mt-5">
      <DefinitionList
        items={[
          {
            id: "subject",
            name: kind === "pack" ? "Entries of" : "Receipt",
            value: <AgentText value={subject} hideWarnings />,
          },
          { id: "opening", name: "Shows", value: openings[opening] },
          { id: "by", name: "Link by", value: <AgentText value={madeBy} hideWarnings /> },
          { id: "until", name: "Link ends", value: <Timestamp iso={expiresAt} /> },
        ]}
      />
    </div>
  );
  return (
    <>
      {isOpen ? null : about}
      <form action={action} method="post" onSubmit={open} className="mt-5 flex flex-wrap gap-3">
        <Button type="submit" disabled={isBusy}>
          {isBusy ? "Opening …" : kind === "pack" ? "Open the pack" : "Open the receipt"}
        </Button>
        {isOpen ? (
          <Button
            variant="secondary"
            onClick={() => {
              const { current } = file;
              if (current) saveFile(current.name, current.type, current);
            }}
          >
            Save the file
          </Button>
        ) : null}
      </form>
      <p className={`mt-3 text-[15px] text-muted ${isOpen ? "sr-only" : ""}`}>
        Your browser checks the file against what was signed, names included. The organization's audit log
        keeps when it was opened, and from which address.{" "}
        <TextLink href="/docs/verify-offline">Check it offline</TextLink>
      </p>
      <h2 className={`mt-8 font-semibold text-xl ${outcome.phase === "idle" ? "sr-only" : ""}`}>
        Check in your browser
      </h2>
      <FileOutcome {...check} />
      {isOpen ? about : null}
    </>
  );
}

/** The same for a link that never was. */
export function LinkEnded() {
  return (
    <section className="mx-auto max-w-2xl px-4 py-20 sm:px-6">
      <h1 className="font-semibold text-3xl">This link doesn't work</h1>
      <p className="mt-4 text-lg text-muted">
        It has ended, was revoked, or is incomplete. Ask whoever sent it for a new one.
      </p>
    </section>
  );
}
