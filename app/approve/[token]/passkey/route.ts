import { operation } from "#lib/runtime/server/next-routes";

export const POST = operation("approveByPasskey");
