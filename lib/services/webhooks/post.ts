/** One POST to a receiver, guarded as every request to a host that a stranger named. */
import { type Resolve, requestGuarded } from "#lib/jobs/guarded-request";
import { readRetryAfter } from "./schedule";

export interface Posting {
  url: string;
  body: string;
  headers: Record<string, string>;
  mayBeLoopback: boolean;
  nowMs: number;
  timeoutMs?: number;
  resolve?: Resolve;
}

export interface PostResult {
  /** Null if there was no answer. */
  status: number | null;
  /** Why it did not arrive; null if it did. */
  problem: string | null;
  retryAfterSeconds: number | null;
}

const usualTimeoutMs = 15_000;

/** Resolves with whatever happened. */
export async function post({ nowMs, timeoutMs = usualTimeoutMs, ...posting }: Posting): Promise<PostResult> {
  const answer = await requestGuarded({ ...posting, method: "POST", timeoutMs, maxBytes: 0 });
  if (answer.status === null) return { status: null, problem: answer.problem, retryAfterSeconds: null };
  const { status, headers } = answer;
  const isAccepted = status >= 200 && status < 300;
  return {
    status,
    problem: isAccepted ? null : `HTTP ${status}`,
    retryAfterSeconds: readRetryAfter(headers["retry-after"], nowMs),
  };
}
