import { operation } from "#lib/app/next-routes";

export const GET = operation("log_list");
