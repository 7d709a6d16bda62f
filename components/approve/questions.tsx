/** Questions of approvers and their answers: others' words, before the decision that hashes them. */
import { AgentText } from "#components/agent-text";
import { Card } from "#components/ui/card";
import type { Question } from "#lib/protocol/approval/amendment";

interface QuestionsProps {
  readonly title?: string;
  readonly questions: readonly Question[];
  readonly isPending: boolean;
}

function Questions({ title = "Questions", questions, isPending }: QuestionsProps) {
  if (questions.length === 0) return null;
  return (
    <Card title={title}>
      <ol className="-my-2.5 divide-y divide-line">
        {questions.map(({ question, asked_at, answer }) => (
          <li key={asked_at} className="flex flex-col gap-1 py-2.5 text-[15px]">
            <span className="font-medium">
              <AgentText value={question} />
            </span>
            {answer === null ? (
              <span className="text-muted">
                {isPending ? "Waiting for an answer. A decision doesn't need one." : "Nobody answered."}
              </span>
            ) : (
              <span>
                <span className="text-muted">The agent&rsquo;s side answered: </span>
                <AgentText value={answer} />
              </span>
            )}
          </li>
        ))}
      </ol>
    </Card>
  );
}

interface AllQuestionsProps extends Omit<QuestionsProps, "title"> {
  /** About the request that this one changes. */
  readonly before: readonly Question[];
}

export const AllQuestions = ({ before, ...now }: AllQuestionsProps) => (
  <>
    <Questions title="Questions before the change" questions={before} isPending={false} />
    <Questions {...now} />
  </>
);
