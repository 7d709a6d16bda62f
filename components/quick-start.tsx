/** The quick start as numbered steps with copy buttons. */
import { quickStartSteps } from "./commands";
import { Syntax } from "./syntax";
import { CodeBlock } from "./ui/code-block";

export function QuickStart({ base }: { readonly base: string }) {
  return (
    <ol className="grid gap-8">
      {quickStartSteps(base).map((step, index) => (
        <li key={step.id} className="grid items-start gap-x-8 gap-y-3 lg:grid-cols-[16rem_minmax(0,1fr)]">
          <div>
            <h3 className="font-medium">
              <span className="mr-1 text-muted tabular-nums">{index + 1}</span>
              {` ${step.title}`}
            </h3>
            <p className="mt-1 text-[15px] text-muted">{step.note}</p>
          </div>
          <CodeBlock
            code={step.command}
            label={step.title}
            title="Shell"
            coloured={<Syntax code={step.command} language="sh" />}
          />
        </li>
      ))}
    </ol>
  );
}
