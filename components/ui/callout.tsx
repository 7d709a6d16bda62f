/** A box that must not be overlooked. `alert` announces itself when it appears after the page was loaded. */

import type { ReactNode } from "react";
import {
  BeakerIcon,
  CheckCircleIcon,
  ExclamationTriangleIcon,
  InformationCircleIcon,
  XCircleIcon,
} from "#components/ui/icons";

export type CalloutTone = "info" | "pass" | "warn" | "fail" | "test";

const tones = {
  info: { Icon: InformationCircleIcon, className: "border-accent bg-accent-soft", iconClass: "text-accent" },
  pass: { Icon: CheckCircleIcon, className: "border-pass bg-pass-soft", iconClass: "text-pass" },
  warn: { Icon: ExclamationTriangleIcon, className: "border-warn bg-warn-soft", iconClass: "text-warn" },
  fail: { Icon: XCircleIcon, className: "border-fail bg-fail-soft", iconClass: "text-fail" },
  test: { Icon: BeakerIcon, className: "border-test bg-test-soft", iconClass: "text-test" },
} as const;

interface CalloutProps {
  readonly tone: CalloutTone;
  readonly title: ReactNode;
  readonly children?: ReactNode;
  readonly alert?: boolean;
}

export function Callout({ tone, title, children, alert = false }: CalloutProps) {
  const { Icon, className, iconClass } = tones[tone];
  return (
    <div
      {...(alert ? { role: "alert" } : {})}
      className={`keep-together flex gap-3 rounded-md border-l-4 px-4 py-3 text-ink ${className}`}
    >
      <Icon aria-hidden="true" className={`mt-0.5 size-5 shrink-0 ${iconClass}`} />
      <div className="min-w-0">
        <p className="font-medium [overflow-wrap:anywhere]">{title}</p>
        {children ? <div className="mt-1 text-[15px]">{children}</div> : null}
      </div>
    </div>
  );
}
