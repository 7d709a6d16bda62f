/** Loads an attestation's page and its metadata for Next. */
import { headers } from "next/headers";
import { cache } from "react";
import { AppError } from "#lib/errors";
import type { App } from "#lib/server/app";
import { requestAddress } from "#lib/server/next/node-http";
import { takePreloadedData } from "#lib/server/next/page-cache";
import { countPage } from "#lib/server/next/page-limits";
import { getApp } from "#lib/server/singleton";
import { type VerificationPage, verifyForPage } from "./public-verification";

export type LoadedVerification =
  | ({ kind: "found" } & VerificationPage)
  | { kind: "unknown"; elsewhere: string | null }
  | { kind: "limited"; detail: string };

/** Takes the data that the production server has handed over for this request, or loads it here. */
async function findVerification(app: App, id: string): Promise<VerificationPage> {
  const asked = await headers();
  const handedOver = takePreloadedData<VerificationPage>(app, asked);
  if (handedOver !== null) return handedOver;
  await countPage(asked, "verify");
  return verifyForPage(app.context, id, requestAddress(app, asked));
}

/** Once a request, for the page and its metadata together. Everything but 404 and 429 is thrown. */
export const loadVerification = cache(async (id: string): Promise<LoadedVerification> => {
  const app = await getApp();
  try {
    return { kind: "found", ...(await findVerification(app, id)) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (error.errorName === "attestation_not_found")
      return { kind: "unknown", elsewhere: app.context.logList?.baseOf(id) ?? null };
    if (error.errorName === "rate_limit_exceeded") return { kind: "limited", detail: error.detail };
    throw error;
  }
});
