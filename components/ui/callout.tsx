/** A box that must not be overlooked. `alert` announces itself when it appears after the page was loaded. */
import { CircleCheck, CircleX, FlaskConical, Info, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";

export type CalloutTone = "info" | "pass" | "warn" | "fail" | "test";

const tones = {
  info: { Icon: Info, className: "border-accent bg-accent-soft", iconClass: "text-accent" },
  pass: { Icon: CircleCheck, className: "border-pass bg-pass-soft", iconClass: "text-pass" },
  warn: { Icon: TriangleAlert, className: "border-warn bg-warn-soft", iconClass: "text-warn" },
  fail: { Icon: CircleX, className: "border-fail bg-fail-soft", iconClass: "text-fail" },
  test: { Icon: FlaskConical, className: "border-test bg-test-soft", iconClass: "text-test" },
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
        <p className="font-medium">{title}</p>
        {children ? <div className="mt-1 text-[15px]">{children}</div> : null}
      </div>
    </div>
  );
}
