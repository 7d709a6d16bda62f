/** The state in words: what was decided, what happens next, and the receipt when there is one. */
import { AgentText } from "#components/agent-text";
import { Callout, type CalloutTone } from "#components/ui/callout";
import { TestMark } from "#components/ui/status-pill";
import { TextLink } from "#components/ui/text-link";
import { Timestamp } from "#components/ui/timestamp";
import type { ApprovalView } from "#lib/api/schemas/approval-view";
import { findEnd } from "#lib/protocol/approval/approval-end";
import { describeGroups, describeUnasked } from "#lib/protocol/approval/decided-words";
import type { PlantedOutcome } from "#lib/protocol/approval/planted";
import { HowChecked } from "./how-checked";

interface OutcomeProps {
  readonly view: ApprovalView;
  /** The page was opened when all was over. */
  readonly wasOpenedLate: boolean;
}

const tones: Record<ApprovalView["status"], CalloutTone> = {
  pending: "info",
  approved: "pass",
  denied: "info",
  expired: "warn",
  cancelled: "info",
};

function Decided({ view }: { readonly view: ApprovalView }) {
  return view.decided_at === null ? null : (
    <>
      {" "}
      at <Timestamp iso={view.decided_at} />
    </>
  );
}

/** Enrolled approvers of required groups alone count, by passkey. */
function describeWho({ is_test, groups, approvals: { required }, required_level }: ApprovalView): string {
  if (groups.length > 0) {
    const means = required_level === "none" ? "by passkey" : "by passkey and World ID";
    return `${describeGroups(groups)}, ${means},`;
  }
  if (is_test) return "The stand-in";
  return required === 1 ? "A World ID" : `World IDs of ${required} different humans`;
}

/** Time from which nothing can use the approval, by the database's clock. */
export const describeEnd = ({ request: { grant }, usable_until, now }: ApprovalView): string | null =>
  findEnd({ usable_until, grant }, now);

function Use({ view, words }: { readonly view: ApprovalView; readonly words: string }) {
  const { attestation } = view;
  const end = describeEnd(view);
  if (attestation !== null)
    return (
      <>
        The agent has recorded what it did:{" "}
        <TextLink href={new URL(attestation.public_url).pathname}>see the receipt</TextLink>
        {attestation.is_public ? "." : ". It's private, so it shows little more than that it is authentic."}
      </>
    );
  if (end === null) return words;
  return (
    <>
      Nothing can use it any more: it ended at <Timestamp iso={end} />.
    </>
  );
}

function Approved({ view }: { readonly view: ApprovalView }) {
  const isStanding = view.request.grant !== null;
  const words = isStanding
    ? "What is within these limits is approved from now on, without asking again."
    : "The agent will see this when it next checks, and may then perform the action below once.";
  return (
    <>
      <p>
        {describeWho(view)} approved it
        <Decided view={view} />. <Use view={view} words={words} />
      </p>
      {view.is_test ? (
        <p className="mt-2">
          <TestMark />
        </p>
      ) : null}
      <HowChecked proofs={view.proofs} environment={view.environment} />
      {view.attestation !== null || describeEnd(view) !== null ? null : (
        <p className="mt-2">
          You're done.
          {isStanding ? "" : " A link to the receipt appears here if the agent reports what it did."}
        </p>
      )}
    </>
  );
}

function Denied({ view }: { readonly view: ApprovalView }) {
  return (
    <>
      <p>
        It was denied
        <Decided view={view} />. This is final. The agent is instructed to stop and report, and not to ask
        again by itself. The same request within 24 hours would carry a warning.
      </p>
      {view.denial_reason === null ? null : (
        <p className="mt-2">
          Reason given: <AgentText value={view.denial_reason} />
        </p>
      )}
    </>
  );
}

function TakenBack({ at }: { readonly at: string }) {
  return (
    <p>
      The approval was taken back at <Timestamp iso={at} />. Nothing can use it any more. The agent is
      instructed to stop and report.
    </p>
  );
}

/** Decided by a rule or a standing approval. */
function Unasked({ view, words }: { readonly view: ApprovalView; readonly words: string }) {
  return (
    <p>
      <AgentText value={words} hideWarnings />{" "}
      {view.status === "approved" ? (
        <Use view={view} words="The agent may perform the action below once." />
      ) : null}
    </p>
  );
}

const plantedTitles: Record<PlantedOutcome, string> = {
  denied: "Well caught",
  corrected: "Well caught",
  approved: "Not caught",
  changed: "Not caught",
  expired: "Expired",
  withdrawn: "Cancelled",
};

const plantedTones: Record<string, CalloutTone> = { "Well caught": "pass", "Not caught": "warn" };

/** Your organization wants to know whether its requests are read: the group is counted, nobody in it. */
function PlantedEnd({ mistake }: { readonly mistake: string }) {
  return (
    <>
      <p>
        No agent asked for this. Your organization made it from a real request, with one fact made wrong.{" "}
        <AgentText value={mistake} hideWarnings />
      </p>
      <p className="mt-2">
        Nothing was approved, and nothing can run from it. How it ended counts for the group. Who decided
        isn't stored.
      </p>
    </>
  );
}

function Explanation({ view }: { readonly view: ApprovalView }) {
  if (view.planted !== null) return <PlantedEnd mistake={view.planted.mistake} />;
  const unasked = describeUnasked(view.decided_by, view.status);
  if (unasked !== null && view.revoked_at === null) return <Unasked view={view} words={unasked} />;
  switch (view.status) {
    case "approved":
      return view.revoked_at === null ? <Approved view={view} /> : <TakenBack at={view.revoked_at} />;
    case "denied":
      return <Denied view={view} />;
    case "expired":
      return (
        <p>
          Nobody decided in time, so nothing was approved. The request expired at{" "}
          <Timestamp iso={view.expires_at} />. If the action is still needed, the agent must make a new
          request with a new link.
        </p>
      );
    case "cancelled":
      if (view.amended_path !== null)
        return (
          <p>
            It was changed
            <Decided view={view} />, so nothing can be decided here any more. The changed request takes its
            place: <TextLink href={view.amended_path}>open the changed request</TextLink>.
          </p>
        );
      return (
        <p>
          {view.code_tries_left === 0
            ? "This request was cancelled after five wrong confirmation codes"
            : "The organization cancelled this request"}
          <Decided view={view} />. Nothing was approved, and nothing can be decided here any more.
        </p>
      );
    case "pending":
      return null;
  }
}

const titles: Record<ApprovalView["status"], string> = {
  pending: "",
  approved: "Approved",
  denied: "Denied",
  expired: "Expired",
  cancelled: "Cancelled",
};

export function Outcome({ view, wasOpenedLate }: OutcomeProps) {
  const isTakenBack = view.revoked_at !== null;
  const { planted } = view;
  const ended = isTakenBack ? "Taken back" : view.amended_path === null ? titles[view.status] : "Changed";
  const isTest = view.is_test && ended === titles.approved;
  const title = planted === null ? `${ended}${isTest ? " (TEST)" : ""}` : plantedTitles[planted.outcome];
  const tone = isTakenBack ? "info" : planted === null ? tones[view.status] : plantedTones[title];
  return (
    <div role="status">
      <Callout
        tone={tone ?? "info"}
        title={
          wasOpenedLate ? (
            <>
              {title}
              {/* Without JavaScript this is also the page after the visitor's own denial. */}
              <span className="noscript:hidden"> before you opened this page</span>
            </>
          ) : (
            title
          )
        }
      >
        <Explanation view={view} />
      </Callout>
    </div>
  );
}
