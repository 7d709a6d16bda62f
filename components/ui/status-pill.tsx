/** A state in an icon and words, never by colour alone. */

import type { ReactNode } from "react";
import { AgentText } from "#components/agent-text";
import {
  BeakerIcon,
  CheckBadgeIcon,
  CheckCircleIcon,
  ClockIcon,
  ExclamationTriangleIcon,
  InformationCircleIcon,
  LockClosedIcon,
  MinusCircleIcon,
  NoSymbolIcon,
  QuestionMarkCircleIcon,
  XCircleIcon,
} from "#components/ui/icons";
import { describeTest } from "#lib/protocol/approval/approval-words";

export type Tone =
  | "pass"
  | "proven"
  | "fail"
  | "warn"
  | "neutral"
  | "pending"
  | "unknown"
  | "private"
  | "test"
  | "cancelled"
  | "info";

const tones = {
  pass: { Icon: CheckCircleIcon, className: "bg-pass-soft text-pass" },
  /** Green says that a record is authentic, and nothing else; what else is proven has this. */
  proven: { Icon: CheckBadgeIcon, className: "bg-accent-soft text-accent" },
  fail: { Icon: XCircleIcon, className: "bg-fail-soft text-fail" },
  warn: { Icon: ExclamationTriangleIcon, className: "bg-warn-soft text-warn" },
  neutral: { Icon: MinusCircleIcon, className: "bg-sunken text-muted" },
  pending: { Icon: ClockIcon, className: "bg-accent-soft text-accent" },
  unknown: { Icon: QuestionMarkCircleIcon, className: "bg-sunken text-muted" },
  private: { Icon: LockClosedIcon, className: "bg-sunken text-ink" },
  test: { Icon: BeakerIcon, className: "bg-test-soft text-test" },
  cancelled: { Icon: NoSymbolIcon, className: "bg-sunken text-muted" },
  info: { Icon: InformationCircleIcon, className: "bg-accent-soft text-accent" },
} as const;

interface StatusPillProps {
  readonly tone: Tone;
  readonly children: ReactNode;
  readonly large?: boolean;
}

export function StatusPill({ tone, children, large = false }: StatusPillProps) {
  const { Icon, className } = tones[tone];
  const size = large ? "px-3 py-1.5 text-base" : "px-2 py-0.5 text-[13px]";
  return (
    <span
      className={`inline-flex items-baseline gap-1.5 rounded-full sm:whitespace-nowrap border border-current/25 font-medium ${size} ${className}`}
    >
      <Icon aria-hidden="true" className={`shrink-0 self-center ${large ? "size-5" : "size-4"}`} />
      {children}
    </span>
  );
}

/** The permanent mark of anything from the World ID stand-in or staging. `method`: the approval's, if it is known. */
export const TestMark = ({ method }: { readonly method?: string | null }) => (
  <StatusPill tone="test">{describeTest(method)}</StatusPill>
);

/** A tool's name beside what it does. */
export function ToolTag({ tool }: { readonly tool: string | null }) {
  if (tool === null) return null;
  return (
    <>
      {" "}
      <span className="inline-block rounded-sm bg-sunken px-1.5 font-mono font-normal text-[12px] text-muted">
        <AgentText value={tool} isName hideWarnings />
      </span>
    </>
  );
}
