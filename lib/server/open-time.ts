/** Opens sources of time bounds: witnesses, beacons and time-stamp authorities, none of them on a request's path. */
import { readFile } from "node:fs/promises";
import type { Env } from "#lib/env";
import { shareOf } from "#lib/jobs/fair-share";
import { createNotBefore } from "#lib/log/time/not-before";
import { createTimeStamps } from "#lib/log/time/time-stamps";
import { createWitnesses } from "#lib/log/witness/witnesses";
import { type Certificate, parseCertificates } from "#lib/protocol/encoding/certificate";
import type { Context } from "#lib/services/approvals/context";

/** The service's own work, which weighs like one client's. */
export const serviceShare = shareOf("other", { organization: "service" });

async function readTimeAuthorities(file: string | undefined): Promise<Certificate[]> {
  if (file === undefined) return [];
  try {
    return parseCertificates(await readFile(file, "utf8"));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`Countersign cannot start: TSA_CERTIFICATES, ${file}: ${why}`);
  }
}

interface Dependencies extends Pick<Context, "database" | "clock" | "random" | "logger" | "pool"> {
  env: Env;
  /** True if this process asks witnesses and authorities; one does for all. */
  isAsking: boolean;
}

export async function openTime({ env, isAsking, pool, ...shared }: Dependencies) {
  const { database, clock, random, logger } = shared;
  const witnesses = createWitnesses({
    database,
    policy: env.WITNESSES,
    logger,
    clock,
    intervalSeconds: env.WITNESS_INTERVAL_SECONDS,
    onCosigned: () => notBefore.refresh(),
  });
  const schedule = () => {
    if (isAsking) witnesses.schedule();
  };
  const notBefore = createNotBefore({
    database,
    policy: env.WITNESSES,
    drandUrl: env.DRAND_URL,
    clock,
    logger,
    maxAgeSeconds: env.NOT_BEFORE_MAX_AGE_SECONDS,
    verifyBeacon: (bound) => pool.runRemembered("verifyBeacon", bound, serviceShare),
    renew: schedule,
  });
  const timeAuthorities = await readTimeAuthorities(env.TSA_CERTIFICATES);
  const timeStamps = createTimeStamps({
    database,
    urls: env.TSA_URLS,
    pinned: timeAuthorities,
    clock,
    random,
    logger,
  });
  return {
    notBefore,
    timeAuthorities,
    onCommit: schedule,
    start: async () => {
      if (isAsking) await witnesses.ask();
      notBefore.start();
      if (isAsking) timeStamps.start();
    },
    close: async () => {
      await timeStamps.close();
      await notBefore.close();
      await witnesses.close();
    },
  };
}
