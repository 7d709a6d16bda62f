/** Mail as people read it: newest first, text as text, and only addresses of our own origin are links. */
import { AgentText } from "#components/agent-text";
import { Card } from "#components/ui/card";
import { CopyButton } from "#components/ui/copy-button";
import { EmptyState } from "#components/ui/empty-state";
import { TextLink } from "#components/ui/text-link";
import { Timestamp } from "#components/ui/timestamp";

interface Message {
  id: string;
  to: string;
  subject: string;
  text: string;
  created_at: string;
}

interface MailboxProps {
  readonly messages: readonly Message[];
  readonly origin: string;
}

type Piece = { kind: "text" | "link"; value: string; offset: number };

/** Splits at addresses below `origin`; punctuation that ends a sentence is not part of an address. */
export function splitAtLinks(text: string, origin: string): Piece[] {
  const pieces: Piece[] = [];
  let done = 0;
  for (const match of text.matchAll(/https?:\/\/[^\s<>"']+[^\s<>"'.,;:!?)\]]/g)) {
    if (!URL.canParse(match[0]) || new URL(match[0]).origin !== origin) continue;
    if (match.index > done) pieces.push({ kind: "text", value: text.slice(done, match.index), offset: done });
    pieces.push({ kind: "link", value: match[0], offset: match.index });
    done = match.index + match[0].length;
  }
  if (done < text.length) pieces.push({ kind: "text", value: text.slice(done), offset: done });
  return pieces;
}

function Body({ text, origin }: { readonly text: string; readonly origin: string }) {
  return (
    <p className="whitespace-pre-wrap text-[15px] leading-relaxed [overflow-wrap:anywhere]">
      {splitAtLinks(text, origin).map((piece) =>
        piece.kind === "text" ? (
          <Lines key={piece.offset} text={piece.value} />
        ) : (
          <TextLink key={piece.offset} href={piece.value}>
            {piece.value}
          </TextLink>
        ),
      )}
    </p>
  );
}

/** Line breaks are the mail's own layout, everything else in it may come from a stranger. */
function Lines({ text }: { readonly text: string }) {
  let offset = 0;
  return text.split(/(\r?\n)/).map((part) => {
    const key = offset;
    offset += part.length;
    if (part === "") return null;
    return /^\r?\n$/.test(part) ? "\n" : <VisiblePart key={key} part={part} />;
  });
}

/** Indentation and spaces beside a link are layout too. */
function VisiblePart({ part }: { readonly part: string }) {
  const inner = part.trim();
  const lead = part.slice(0, part.length - part.trimStart().length);
  if (inner === "") return part;
  return (
    <>
      {lead}
      <AgentText value={inner} hideWarnings />
      {part.slice(lead.length + inner.length)}
    </>
  );
}

export function Mailbox({ messages, origin }: MailboxProps) {
  return (
    <div className="mx-auto max-w-3xl px-4 pt-8 sm:px-6 sm:pt-12">
      <h1 className="font-semibold text-3xl">Development mailbox</h1>
      <p className="mt-3 text-lg text-muted">
        No mail service is configured, so mail isn't sent. It appears here, where everyone who can reach this
        instance can read it. The latest 200, newest first.
      </p>
      <div className="mt-8 flex flex-col gap-4">
        {messages.length === 0 ? (
          <EmptyState title="No mail yet">
            Request an API key or a sign-in link, and the mail appears here.
          </EmptyState>
        ) : (
          messages.map((message) => (
            <Card
              key={message.id}
              title={<AgentText value={message.subject} hideWarnings />}
              action={<CopyButton text={message.text} label="the mail's text" />}
            >
              <p className="mb-3 text-muted text-sm">
                To <AgentText value={message.to} hideWarnings />, <Timestamp iso={message.created_at} />
              </p>
              <Body text={message.text} origin={origin} />
            </Card>
          ))
        )}
      </div>
    </div>
  );
}
