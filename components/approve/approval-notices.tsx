/** What must be read before anything else: TEST, and an equal request that was denied. */
import { Callout } from "#components/ui/callout";
import { Timestamp } from "#components/ui/timestamp";
import type { ApprovalView } from "#lib/contract/approval-view";

export function ApprovalNotices({ view }: { readonly view: ApprovalView }) {
  return (
    <>
      {view.is_test ? (
        <Callout
          tone="test"
          title={
            view.environment === "staging"
              ? "TEST: this instance uses World's staging network"
              : "TEST: this instance uses a stand-in for World ID"
          }
        >
          Approvals given here are permanently marked TEST. They aren't World ID proofs and say nothing about
          a person.
        </Callout>
      ) : null}
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
