import { operation } from "#lib/server/next/next-routes";

export const GET = operation("log_list_signature");
