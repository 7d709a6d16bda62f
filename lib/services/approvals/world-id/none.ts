/** World ID as the services see it where the service has none (APPROVALS=passkeys): nothing can be asked of it. */

import { AppError } from "#lib/errors";
import { findEnvironment } from "#lib/protocol/approval/approval";
import type { WorldIdProvider } from "./provider";

/** Only requests made while World ID was set up ask for it. They stay pending: it may come back. */
function refuse(): never {
  throw new AppError(
    "service_unavailable",
    "this request asks for World ID, which this service doesn't have any more: cancel it, and request an approval by passkey",
  );
}

export function createNoWorldId(baseUrl: string): WorldIdProvider {
  return {
    environment: findEnvironment(baseUrl, []),
    appId: "",
    rpId: "",
    idkitConfig: { app_id: "app_", environment: "production" },
    signRequest: refuse,
    verifyWithPortal: async () => refuse(),
    checkRoot: async () => refuse(),
    v4KeyJson: undefined,
  };
}
