/**
 * Subset of `@cedar-policy/cedar-wasm` in use, passed in by the caller: the service loads it on first use, and the
 * offline verifier takes the user's own copy.
 */
import { utf8Encode } from "#lib/protocol/encoding/bytes";

interface CedarError {
  message: string;
  help: string | null;
  /** Octets from the beginning of the text. */
  sourceLocations?: { label: string | null; start: number; end: number }[];
  related?: CedarError[];
}

interface Failure {
  type: "failure";
  errors: CedarError[];
}

interface PolicyError {
  policyId: string;
  error: CedarError;
}

export type CedarValue = string | number | boolean | CedarValue[] | { [name: string]: CedarValue };

interface Entity {
  type: string;
  id: string;
}

export interface CedarCall {
  principal: Entity;
  action: Entity;
  resource: Entity;
  context: Record<string, CedarValue>;
  entities: {
    uid: Entity;
    attrs: Record<string, CedarValue>;
    parents: Entity[];
    tags?: Record<string, CedarValue>;
  }[];
}

type Policies = { staticPolicies: string | Record<string, string> };

export type CedarAnswer =
  | Failure
  | {
      type: "success";
      response: {
        decision: "allow" | "deny";
        diagnostics: { reason: string[]; errors: PolicyError[] };
      };
    };

/** Policy in JSON; of expressions only the depth is of interest. */
export interface CedarPolicy {
  effect: "permit" | "forbid";
  action: { op: string; entity?: { id?: string } };
  resource: unknown;
  conditions: unknown[];
  annotations?: Record<string, string | null>;
}

export interface Cedar {
  policySetTextToParts(
    text: string,
  ): Failure | { type: "success"; policies: string[]; policy_templates: string[] };
  policyToJson(policy: string): Failure | { type: "success"; json: unknown };
  validate(call: { schema: string; policies: Policies; validationSettings: { mode: "strict" } }):
    | Failure
    | {
        type: "success";
        validationErrors: PolicyError[];
        validationWarnings: PolicyError[];
        otherWarnings: CedarError[];
      };
  preparsePolicySet(name: string, policies: Policies): Failure | { type: "success" };
  statefulIsAuthorized(call: CedarCall & { preparsedPolicySetId: string }): CedarAnswer;
}

export type { CedarError };

/* Lines and columns of a text, from 1, for people who look for a mistake in it. */

export interface TextPosition {
  line: number;
  /** Counted in characters (code points). */
  column: number;
}

export function positionAt(text: string, index: number): TextPosition {
  const before = text.slice(0, index).split("\n");
  return { line: before.length, column: [...(before.at(-1) ?? "")].length + 1 };
}

/** Cedar counts octets of UTF-8. */
export function positionAtOctet(text: string, octet: number): TextPosition {
  const before = new TextDecoder().decode(utf8Encode(text).subarray(0, octet));
  return positionAt(text, before.length);
}
