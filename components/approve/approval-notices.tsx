/** Notices to read before anything else: TEST, and an equal request that was denied. */
import { Callout } from "#components/ui/callout";
import { Timestamp } from "#components/ui/timestamp";
import type { ApprovalView } from "#lib/api/schemas/approval-view";

interface ApprovalNoticesProps {
  readonly view: ApprovalView;
  /** The page says once that this instance makes TEST approvals. */
  readonly isTestSaid?: boolean;
}

export function ApprovalNotices({ view, isTestSaid = false }: ApprovalNoticesProps) {
  return (
    <>
      {view.is_test && !isTestSaid ? (
        <Callout
          tone="test"
          title={
            view.environment === "staging"
              ? "TEST: World's staging network"
              : view.required_level === "none"
                ? "TEST: an instance on a loopback address"
                : "TEST: a stand-in for World ID"
          }
        >
          Approvals here are permanently marked TEST and prove nothing about a person.
        </Callout>
      ) : null}
      {view.request.requester_may_approve ? (
        <Callout tone="warn" title="The requester may approve this too">
          The organization lets people approve what their own API keys request.
        </Callout>
      ) : null}
      {view.request.amends === undefined ? null : (
        <Callout tone="info" title="This request was changed">
          {view.request.amends.by === undefined ? "Someone with the link" : "An approver"} changed what the
          agent asked for. The decision is about the values below, with the earlier ones beside them.
        </Callout>
      )}
      {view.previously_denied ? (
        <Callout tone="warn" title="A request like this one was denied in the last 24 hours">
          The same agent requested the same action with the same details, and was denied at{" "}
          <Timestamp iso={view.previously_denied.denied_at} />. Approve only if you know why it is asking
          again.
        </Callout>
      ) : null}
    </>
  );
}
