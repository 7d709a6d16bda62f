/**
 * The rosters of enrolled approvers and the enforced rules that approvals in an evidence pack rest on. Each must be in the
 * log, and monitors see it there: otherwise a service could invent an approver, and nobody would notice.
 */
import { isPasskeyApproval } from "#lib/protocol/approval/approval";
import { parseHumanAuthorization } from "#lib/protocol/approval/human-authorization-shape";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import type { PackEntry } from "#lib/protocol/pack/pack-entries";
import { type PackCheck, packFault, packPass } from "#lib/protocol/pack/pack-reasons";
import { rosterHash } from "#lib/protocol/passkey/roster";
import { parseRosterStatement, rosterOrganization } from "#lib/protocol/passkey/roster-statement";
import { parseEnforcedRules, rulesOrganization } from "#lib/protocol/policy/ruleset-statement";
import { type Fault, failBy } from "#lib/protocol/statement/outcome";
import { countOf } from "#lib/protocol/text/count";
import type { ListedStatement } from "#lib/verifier/checks/check-sum";
import { findMaker } from "#lib/verifier/checks/signed-statement";
import type { VerifierTrust } from "#lib/verifier/checks/trust";

interface Ground {
  /** Number of the entry that rests on it. */
  number: number;
  what: "a roster" | "rules";
  /** Whose, and its hash. */
  name: string;
  /** The decision's place. */
  origin: unknown;
  index: number;
}

function readGrounds({ sequence: number }: PackEntry, json: JsonObject): Ground[] {
  const object = parseHumanAuthorization(json["human_authorization"]);
  if (object === null) return [];
  const { request, approvals, decided_by: by, log } = object;
  const place = { number, origin: log?.["origin"], index: Number(log?.["index"]) };
  const heads = approvals.filter(isPasskeyApproval).map(({ roster }) => roster.head);
  const rosters = heads.map((head) => `${rosterOrganization(head.organization)} ${rosterHash(head)}`);
  const rules = by.kind === "rule" ? [`${rulesOrganization(request.organization)} ${by.ruleset_hash}`] : [];
  return [
    ...rosters.map((name) => ({ ...place, what: "a roster" as const, name })),
    ...rules.map((name) => ({ ...place, what: "rules" as const, name })),
  ];
}

/** Null for another statement. */
function nameOf({ payload }: ListedStatement): string | null {
  const roster = parseRosterStatement(payload);
  if (roster !== null) return `${roster.organization} ${roster.roster_hash}`;
  const rules = parseEnforcedRules(payload);
  return rules && `${rules.organization} ${rules.ruleset_hash}`;
}

export function createGroundList() {
  const grounds: Ground[] = [];
  return {
    /** Every entry of the pack with its file, already verified by itself. */
    add: (entry: PackEntry, json: JsonObject): void => void grounds.push(...readGrounds(entry, json)),
    /** `all`: the service's own statements. */
    judge: (all: readonly ListedStatement[] | Fault, trust: VerifierTrust): PackCheck => {
      if (!Array.isArray(all)) return { name: "grounds", ...failBy(all as Fault) };
      const listed = new Map<string, ListedStatement[]>();
      for (const statement of all as readonly ListedStatement[]) {
        const name = nameOf(statement);
        if (name === null || findMaker(statement, trust) === undefined) continue;
        listed.set(name, [...(listed.get(name) ?? []), statement]);
      }
      const isBefore = ({ origin, index }: Ground, { logOrigin, logIndex }: ListedStatement) =>
        logOrigin !== origin || logIndex < index;
      const unfounded = grounds.find((one) => !listed.get(one.name)?.some((found) => isBefore(one, found)));
      if (unfounded !== undefined) {
        const { number, what } = unfounded;
        return packFault("grounds", "ground_not_logged", { number, what });
      }
      const names = new Set(grounds.map(({ name }) => name));
      return packPass(
        "grounds",
        `${countOf(names.size, "roster or version of rules", "rosters and versions of rules")}, each in the log before the approvals that rest on it`,
      );
    },
  };
}
