/** Level, approvals given and needed, time left, and the confirmation code. */
import { RuleReason } from "#components/rule-reason";
import { Card } from "#components/ui/card";
import { type Definition, DefinitionList } from "#components/ui/definition-list";
import { LocalTime } from "#components/ui/local-time";
import { Timestamp } from "#components/ui/timestamp";
import { levelWords } from "#lib/api/schemas/approval-page";
import type { ApprovalView } from "#lib/api/schemas/approval-view";
import { describeUnasked } from "#lib/protocol/approval/decided-words";
import { formatCount } from "#lib/protocol/text/display-text";
import { RequiredGroups } from "./groups-needed";
import { markPart } from "./mark-parts";
import { TimeLeft } from "./time-left";

export const conditionsId = "conditions";

interface RequestConditionsProps {
  readonly view: ApprovalView;
  readonly onElapsed: () => void;
}

/** Words in the largest whole unit that fits. */
function durationWords(seconds: number): string {
  const [count, unit] =
    seconds % 86_400 === 0
      ? [seconds / 86_400, "day"]
      : seconds % 3600 === 0
        ? [seconds / 3600, "hour"]
        : seconds % 60 === 0
          ? [seconds / 60, "minute"]
          : [seconds, "second"];
  return formatCount(count, unit);
}

function listDemands(view: ApprovalView): Definition[] {
  const { required, given } = view.approvals;
  const ofGroups = view.groups.reduce((sum, { count }) => sum + count, 0);
  return [
    { id: "level", name: "Required proof", value: levelWords[view.required_level] },
    ...(view.groups.length === 0
      ? []
      : [{ id: "groups", name: "Who decides", value: <RequiredGroups view={view} /> }]),
    ...(ofGroups === required
      ? []
      : [
          {
            id: "approvals",
            name: "Approvals",
            value: `${given} of ${required}${required > 1 ? ", each from a different person" : ""}`,
          },
        ]),
  ];
}

function describeUsable({ request }: ApprovalView): Definition[] {
  const { usable_for_seconds: usableFor } = request;
  if (usableFor === undefined) return [];
  const value = `the agent can use it for ${durationWords(usableFor)}`;
  return [{ id: "usable", name: "Once approved", value }];
}

function listConditions({ view, onElapsed }: RequestConditionsProps): Definition[] {
  // A decision by a rule or a standing approval asked nobody for a proof.
  const isUnasked = describeUnasked(view.decided_by, view.status) !== null;
  const conditions: Definition[] = isUnasked ? [] : listDemands(view);
  if (view.rules_explanation !== null)
    conditions.unshift({
      id: "why",
      name: view.status === "pending" ? "Why you are asked" : "What the rules said",
      value: <RuleReason explanation={view.rules_explanation} text={view.rules_text} />,
    });
  conditions.push(...describeUsable(view));
  const expiry = <Timestamp iso={view.expires_at} relative={false} />;
  if (view.status === "pending") {
    conditions.push({
      id: "time",
      name: "Time left",
      value: (
        <>
          <TimeLeft key={view.now} expiresAt={view.expires_at} serverTime={view.now} onElapsed={onElapsed} />
          <span className="block text-muted text-sm">
            until <LocalTime iso={view.expires_at} />
            {expiry}
          </span>
        </>
      ),
    });
  } else conditions.push({ id: "time", name: "Deadline", value: expiry });
  return conditions;
}

/** Conditions that equal requests have in common. */
export const SharedConditions = ({ view }: Pick<RequestConditionsProps, "view">) => (
  <Card title="Conditions of each" isQuiet {...markPart(conditionsId)}>
    <div className="-my-2.5">
      <DefinitionList items={[...listDemands(view), ...describeUsable(view)]} />
    </div>
  </Card>
);

export function RequestConditions(props: RequestConditionsProps) {
  const { view } = props;
  return (
    <>
      <Card title="Conditions" isQuiet {...markPart(conditionsId)}>
        <div className="-my-2.5">
          <DefinitionList items={listConditions(props)} />
        </div>
      </Card>
      {view.confirmation_code === null || view.request.grant?.derived ? null : (
        <Card title="Confirmation code">
          <p className="font-mono font-semibold text-3xl tracking-[0.12em]">{view.confirmation_code}</p>
          <p className="mt-2 text-[15px] text-muted">
            {view.request.amends === undefined
              ? "The agent shows the same code to the person who runs it."
              : "The request was changed, so this code is new. The agent gets it when it sees the change."}
            {view.status === "pending" && view.request.amends === undefined
              ? " If the codes differ, or you weren't given one, deny the request."
              : null}
          </p>
        </Card>
      )}
    </>
  );
}
