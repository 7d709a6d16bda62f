/** The newest round of drand's quicknet, verified before anything is signed over it. */

import type { FoundBound } from "#lib/log/witness/cosigned-notes";
import { readTextAtMost } from "#lib/protocol/encoding/read-stream";
import type { BeaconBound } from "#lib/protocol/time/not-before-shape";
import { parseRound, quicknet, roundTimeMs } from "#lib/protocol/time/quicknet";

const timeoutMs = 5_000;
const maxAnswerBytes = 10_000;

/** Throws if the beacon is out of reach, or its answer is no round that is over and verifies. */
export async function fetchBeacon(
  url: string,
  verify: (bound: BeaconBound) => Promise<boolean>,
  clock: () => Date,
): Promise<FoundBound> {
  const response = await fetch(`${url.replace(/\/+$/, "")}/${quicknet.chain}/public/latest`, {
    redirect: "error",
    signal: AbortSignal.timeout(timeoutMs),
  });
  const text = response.ok ? await readTextAtMost(response, maxAnswerBytes) : null;
  const bound = text === null ? undefined : parseRound(text);
  if (bound === undefined) throw new Error(`the beacon answered ${response.status} without a round`);
  const atMs = roundTimeMs(bound.round);
  if (atMs > clock().getTime())
    throw new Error(`round ${bound.round} is not due yet by this machine's clock`);
  if (!(await verify(bound))) throw new Error(`the signature of round ${bound.round} does not verify`);
  return { bound, atMs };
}
