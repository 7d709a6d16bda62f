/** Sign-in links: the address that a mail has, and one that an operator hands over without mail. */
import type { HttpContext } from "#lib/api/http/context";
import { verificationTokens } from "#lib/db/schema";
import { base64UrlEncode, hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { recordAudit } from "./audit";
import { listMemberships } from "./members";
import { holdOrCreateUser } from "./organizations";

export const signInLinkSeconds = 1800;

/** No mailed token begins with it: a point is no letter of base64url. */
const operatorMark = "operator.";

export const isOperatorToken = (token: string): boolean => token.startsWith(operatorMark);

export function signInUrl(baseUrl: string, token: string, email: string): URL {
  const url = new URL("/portal/sign-in/confirm", baseUrl);
  url.searchParams.set("token", token);
  url.searchParams.set("email", email);
  return url;
}

type LinkContext = Pick<HttpContext, "database" | "clock" | "random"> & {
  settings: Pick<HttpContext["settings"], "baseUrl">;
  secrets: Pick<HttpContext["secrets"], "session">;
};

/** Works once, as a mailed one. Null if the address belongs to no organization. */
export async function createSignInLink(context: LinkContext, email: string): Promise<string | null> {
  const { clock, random, settings, secrets } = context;
  const token = `${operatorMark}${base64UrlEncode(random(32))}`;
  return context.database.db.transaction(async (tx) => {
    const own = await listMemberships(tx, await holdOrCreateUser(context, tx, email));
    if (own.length === 0) return null;
    await tx.insert(verificationTokens).values({
      identifier: email,
      // As next-auth looks it up (@auth/core, callback/index.js).
      token: hexEncode(sha256(utf8Encode(`${token}${secrets.session}`))),
      expires: new Date(clock().getTime() + signInLinkSeconds * 1000),
    });
    const actor = { kind: "system", id: "operator", ip: null } as const;
    for (const { organizationId } of own)
      await recordAudit(context, tx, {
        organizationId,
        actor,
        action: "session.link_created",
        subject: email,
      });
    return signInUrl(settings.baseUrl, token, email).href;
  });
}
