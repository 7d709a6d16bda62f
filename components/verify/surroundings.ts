/**
 * Facts that only the service states about a public record: no part of the signed bytes, and not repeated by the
 * browser.
 */
import type { Habits } from "#lib/verifier/checks/warning-rows";

export interface Surroundings {
  readonly organization: {
    readonly name: string | null;
    readonly domains: readonly {
      readonly domain: string;
      readonly unicode: string;
      readonly last_checked: string;
    }[];
  };
  readonly habits: Habits;
  readonly grant: { readonly at: string; readonly sequence: number } | null;
}
