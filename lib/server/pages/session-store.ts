/**
 * Where next-auth keeps people, sessions and link tokens: our tables, through the drizzle adapter. Session tokens
 * are stored as SHA-256, so that a copy of the database can't be used to sign in.
 */

import { DrizzleAdapter } from "@auth/drizzle-adapter";
import type { Adapter, AdapterSession } from "next-auth/adapters";
import { accounts, sessions, users, verificationTokens } from "#lib/db/schema";
import { hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { recordSignIn } from "#lib/services/accounts/members";
import type { Context } from "#lib/services/approvals/context";

const hashToken = (token: string) => hexEncode(sha256(utf8Encode(token)));

/** How the audit log names a session: enough to tell two apart, useless for signing in. */
export function sessionLabel(storedToken: string): string {
  return `sess_${storedToken.slice(0, 12)}`;
}

function requireMethods(adapter: Adapter) {
  const { createSession, getSessionAndUser, updateSession, deleteSession } = adapter;
  if (!createSession || !getSessionAndUser || !updateSession || !deleteSession)
    throw new Error("the adapter keeps no sessions");
  return { createSession, getSessionAndUser, updateSession, deleteSession };
}

/** `ip`: of the request that signs in, for the audit log. */
export function createSessionStore(context: Context, ip: string | null): Adapter {
  const adapter = DrizzleAdapter(context.database.db, {
    usersTable: users,
    accountsTable: accounts,
    sessionsTable: sessions,
    verificationTokensTable: verificationTokens,
  });
  const kept = requireMethods(adapter);
  return {
    ...adapter,
    createSession: async (session): Promise<AdapterSession> => {
      const sessionToken = hashToken(session.sessionToken);
      const stored = await kept.createSession({ ...session, sessionToken });
      await recordSignIn(context, stored.userId, { ip, session: sessionLabel(sessionToken) });
      return { ...stored, sessionToken: session.sessionToken };
    },
    getSessionAndUser: async (token) => kept.getSessionAndUser(hashToken(token)),
    updateSession: async (session) =>
      kept.updateSession({ ...session, sessionToken: hashToken(session.sessionToken) }),
    deleteSession: async (token) => {
      await kept.deleteSession(hashToken(token));
    },
  };
}
