/** How people can sign in here, by the settings. */
import type { App } from "#lib/server/app";

export function listSignInWays({ OIDC_ISSUER, OIDC_ENFORCED }: App["env"]): "email" | "both" | "provider" {
  if (OIDC_ISSUER === undefined) return "email";
  return OIDC_ENFORCED === "on" ? "provider" : "both";
}
