/**
 * Recomputes hashes before World ID is asked for anything: the hash to be approved must be the hash of this page's
 * content. The server's own hashes are not trusted.
 */
import type { ApprovalView } from "#lib/api/schemas/approval-view";
import { isShownBefore } from "#lib/protocol/approval/amendment";
import { bindRequest, confirmationCode, requestHash } from "#lib/protocol/approval/approval";
import { isShownContent, type ShownContent } from "#lib/protocol/approval/shown-content";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";

const listGroups = (groups: readonly { name: string | null; count: number }[]) =>
  JSON.stringify(groups.map(({ name, count }) => [name, count]));

/** The groups as hashed: the request has their counts, the hidden content their names. */
const withNames = ({ request, group_names }: ApprovalView) =>
  request.required_approvers.map(({ count }, index) => ({ count, name: group_names[index] ?? null }));

function isBeforeShown({ request, before }: ApprovalView, shown: ShownContent): boolean {
  if (before === null) return request.amends === undefined;
  return (
    requestHash(before.request) === request.amends?.request_hash &&
    isShownBefore(request, before.request, { ...shown, before })
  );
}

/** The differences in words; empty if the page and the hash are one. */
export function findDifferences(view: ApprovalView): string[] {
  const { request } = view;
  const computed = bindRequest(request);
  const shown = {
    context: view.context,
    context_salt: view.context_salt,
    agent_name: view.agent.name,
    organization_name: view.organization.name,
    group_names: view.group_names,
    requested_by: view.requested_by as JsonObject | null,
  };
  const isCovered = isShownContent(request, shown);
  const pairs: (readonly [string, unknown, unknown])[] = [
    ["request hash", view.binding.request_hash, computed.request_hash],
    ["World ID action", view.binding.world_action, computed.world_action],
    ["signal", view.binding.signal, computed.signal],
    ["hash of the signal", view.binding.signal_hash, computed.signal_hash],
    ["hash of the details, the names and who asks", isCovered, true],
    // A code that the page must ask for doesn't follow from the request.
    ...(view.confirmation_code === null
      ? []
      : [["confirmation code", view.confirmation_code, confirmationCode(computed.request_hash)] as const]),
    ["request that was changed", isBeforeShown(view, shown), true],
    ["request id", view.request_id, request.request_id],
    ["agent", view.agent.slug, request.agent_slug],
    ["agent's key", view.agent.public_key, request.agent_public_key],
    ["organization", view.organization.id, request.organization],
    ["proof level", view.required_level, request.required_level],
    ["required groups", listGroups(view.groups), listGroups(withNames(view))],
    ["number of approvals", view.approvals.required, request.approvals_required],
    ["time of expiry", view.expires_at, request.expires_at],
  ];
  return pairs.filter(([, shown, hashed]) => shown !== hashed).map(([name]) => name);
}
