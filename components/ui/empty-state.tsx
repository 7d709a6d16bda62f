/** Says that nothing is here yet, and the next step: in words, as a command to paste, or as a button. */
import type { ReactNode } from "react";
import { CodeBlock } from "./code-block";

interface EmptyStateProps {
  readonly title: string;
  readonly children: ReactNode;
  readonly command?: { readonly label: string; readonly code: string };
  readonly action?: ReactNode;
}

export function EmptyState({ title, children, command, action }: EmptyStateProps) {
  return (
    <div className="rounded-lg border border-line-strong border-dashed px-5 py-8">
      <p className="font-semibold text-[17px]">{title}</p>
      <div className="mt-1 max-w-prose text-muted">{children}</div>
      {command ? (
        <div className="mt-4">
          <CodeBlock {...command} />
        </div>
      ) : null}
      {action ? <div className="mt-5">{action}</div> : null}
    </div>
  );
}
