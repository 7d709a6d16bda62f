import { operation } from "#lib/server/next/next-host";

export const POST = operation("denyAuthorization");
