/**
 * The uses of standing approvals in an evidence pack: each within the terms that people approved, and all of one numbered
 * as they can only be if none is missing or counted twice. A use that lapsed gives its number back, so the next one may
 * have it again; a use that an attestation of this pack is backed by never does.
 */

import { amountUnits } from "#lib/core/approval/amount";
import type { HumanAuthorization } from "#lib/core/approval/approval";
import type { DecidedByGrant, GrantTerms } from "#lib/core/approval/decided-by";
import { whyOutOfScope } from "#lib/core/approval/grant";
import { parseHumanAuthorization } from "#lib/core/approval/human-authorization-shape";
import { canonicalHash, type JsonObject } from "#lib/core/encoding/canonical-json";
import { type PackCheck, packFault, packGap, packPass } from "#lib/core/pack/pack-reasons";

interface Use {
  number: number;
  object: HumanAuthorization;
  by: DecidedByGrant;
}

export interface UseList {
  /** Every file of the pack, already verified by itself. */
  add(file: string, json: JsonObject): void;
  judge(): PackCheck;
}

/** As decisions name it: without its log entry. */
const hashOf = ({ log: _log, ...object }: HumanAuthorization) =>
  canonicalHash(object as unknown as JsonObject);

const unitsOf = (value: string | null | undefined) => (value == null ? 0n : amountUnits(value));

/** What of the terms the use goes beyond. The context is hidden: only the service has compared it. */
function findBeyond({ object, by }: Use, grant: HumanAuthorization, terms: GrantTerms): string | null {
  const { request } = object;
  const isOwn = (["organization", "agent_slug", "agent_public_key"] as const).every(
    (name) => request[name] === grant.request[name],
  );
  if (!isOwn) return "agent";
  if (object.approved_at < grant.approved_at) return "time";
  const { context: _hidden, ...shown } = terms;
  const scope = whyOutOfScope(shown, request, {}, new Date(object.approved_at));
  if (scope !== null) return scope;
  const { max_calls, max_budget = null, currency = null } = terms;
  const limits = [by.of, by.budget, by.currency].join();
  return limits === [max_calls, max_budget, currency].join() ? null : "limits";
}

/** Why the number or the sum of a use can't follow those before it; `kept`: of them, those that were attested. */
function findBreak(
  use: Use,
  before: Use | undefined,
  kept: readonly Use[],
): "use_missing" | "use_repeated" | null {
  const { by, object } = use;
  const own = unitsOf(object.request.amount?.value);
  const keptUnits = kept.reduce((sum, one) => sum + unitsOf(one.object.request.amount?.value), 0n);
  if (by.use <= kept.length || (by.spent !== null && unitsOf(by.spent) < keptUnits + own))
    return "use_repeated";
  if (before === undefined) return null;
  const isNext = by.use <= before.by.use + 1 && unitsOf(by.spent) <= unitsOf(before.by.spent) + own;
  return isNext ? null : "use_missing";
}

export function createUseList(): UseList {
  const grants = new Map<string, HumanAuthorization>();
  const uses = new Map<string, Use[]>();
  const attested = new Set<string>();

  function addDecision(number: number, object: HumanAuthorization): void {
    if (object.request.grant !== null) grants.set(hashOf(object), object);
    const { decided_by: by } = object;
    if (by.kind !== "grant") return;
    const ofGrant = uses.get(by.authorization_hash) ?? [];
    uses.set(by.authorization_hash, [...ofGrant, { number, object, by }]);
  }

  function judgeGrant(hash: string, all: readonly Use[]): PackCheck | null {
    const grant = grants.get(hash);
    const kept: Use[] = [];
    let before: Use | undefined;
    for (const use of [...all].sort((a, b) => a.number - b.number)) {
      const { number } = use;
      const terms = grant?.request.grant;
      const what = grant && terms ? findBeyond(use, grant, terms) : null;
      if (what !== null) return packFault("uses", "use_out_of_terms", { number, what });
      // All uses of a standing approval come after it in the record.
      if (grant && before === undefined && use.by.use !== 1)
        return packFault("uses", "use_missing", { number, use: use.by.use });
      const problem = findBreak(use, before, kept);
      if (problem !== null) return packFault("uses", problem, { number, use: use.by.use });
      if (attested.has(use.object.binding.request_hash)) kept.push(use);
      before = use;
    }
    return null;
  }

  return {
    add: (file, json) => {
      const object = parseHumanAuthorization(json["human_authorization"]);
      if (object === null) return;
      if (file.startsWith("decisions/")) addDecision(Number(json["sequence"]), object);
      if (file.startsWith("attestations/")) attested.add(object.binding.request_hash);
    },
    judge: () => {
      const count = [...uses.values()].flat().length;
      if (count === 0) return packPass("uses", "no use of a standing approval");
      for (const [hash, all] of uses) {
        const fault = judgeGrant(hash, all);
        if (fault !== null) return fault;
      }
      const outside = [...uses].filter(([hash]) => !grants.has(hash)).flatMap(([, all]) => all).length;
      return outside > 0
        ? packGap("uses", "use_terms_absent", { count: outside })
        : packPass(
            "uses",
            `${count} ${count === 1 ? "use" : "uses"} of standing approvals, each within its terms, none missing`,
          );
    },
  };
}
