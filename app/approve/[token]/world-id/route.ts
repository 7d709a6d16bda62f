import { operation } from "#lib/app/next-routes";

export const POST = operation("startWorldId");
