/** Findings of `npm run doctor`, and their lines. No line holds a secret: addresses are shown by their host alone. */
import { formatCount } from "#lib/protocol/text/display-text";

export interface Finding {
  area:
    | "settings"
    | "clock"
    | "database"
    | "replica"
    | "keys"
    | "log"
    | "witnesses"
    | "mail"
    | "world"
    | "network";
  /** `fault`: not fit for production. */
  status: "ok" | "warning" | "fault";
  says: string;
  mend: string;
}

export function openArea(area: Finding["area"]) {
  const found: Finding[] = [];
  const add = (status: Finding["status"]) => (says: string, mend: string) =>
    void found.push({ area, status, says, mend });
  return {
    found,
    ok: (says: string) => add("ok")(says, ""),
    warning: add("warning"),
    fault: add("fault"),
  };
}

export type Area = ReturnType<typeof openArea>;

const marks = { ok: "ok     ", warning: "warning", fault: "FAULT  " } as const;

export function encodeFindings(findings: readonly Finding[]): string[] {
  const lines = findings.flatMap(({ area, status, says, mend }) => [
    `${marks[status]}  ${area}: ${says}`,
    ...(mend === "" ? [] : [`         → ${mend}`]),
  ]);
  const count = (status: Finding["status"]) => findings.filter((one) => one.status === status).length;
  return [
    ...lines,
    `${count("ok")} ok, ${formatCount(count("warning"), "warning")}, ${formatCount(count("fault"), "fault")}`,
  ];
}

/** An error's code or kind: its message may repeat an address with a password. */
export function nameError(error: unknown): string {
  const { cause, code, name } = error as { cause?: { code?: unknown }; code?: unknown; name?: string };
  const known = [cause?.code, code, name].find((one) => typeof one === "string");
  return typeof known === "string" ? known : "unknown";
}

/** Message of the service's own errors; of others' the code, as above. */
export function explain(problem: unknown): string {
  if (typeof problem === "string") return problem;
  return problem instanceof Error && !("code" in problem) ? problem.message : nameError(problem);
}

export const unreadable = "Let the role of DATABASE_URL own the database and all that is in it.";

/** Hides a password in the address. */
export const readHost = (url: string) => new URL(url).host;
