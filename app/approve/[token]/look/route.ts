import { operation } from "#lib/server/next/api-route";

export const POST = operation("lookAt");
