/** POST and its answer or problem (RFC 9457); never rejects. */

import { sentence } from "#lib/protocol/text/display-text";

export interface Problem {
  /** 0 if no answer came. */
  status: number;
  code: string;
  detail: string;
}

export type Answer = { ok: true; body: unknown } | { ok: false; problem: Problem };

/** One sentence: what didn't happen, and why. Some problems begin with the first themselves. */
export function explainRefusal(lead: "Nothing was decided" | "Nothing was changed", detail: string): string {
  const why = detail.replace(/^nothing was (?:decided|changed): /, "");
  return sentence(why === "" ? lead : `${lead}: ${why}`);
}

const readText = (value: unknown): string => (typeof value === "string" ? value : "");

/** `isRead`: whether all of the request was on the screen, with a decision on it. */
export async function postJson(path: string, body: unknown, isRead?: boolean): Promise<Answer> {
  try {
    const response = await fetch(path, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json",
        ...(isRead !== undefined && { "read-to-end": isRead ? "?1" : "?0" }),
      },
      body: JSON.stringify(body),
      cache: "no-store",
    });
    const parsed: unknown = await response.json().catch(() => null);
    if (response.ok && parsed !== null) return { ok: true, body: parsed };
    const problem = (parsed ?? {}) as Record<string, unknown>;
    const detail = readText(problem["detail"]);
    return { ok: false, problem: { status: response.status, code: readText(problem["code"]), detail } };
  } catch {
    return { ok: false, problem: { status: 0, code: "unreachable", detail: "" } };
  }
}
