import { operation } from "#lib/server/next/next-routes";

export const POST = operation("revokeByLink");
