import { operation, otherMethods } from "#lib/server/next/next-host";

export const PUT = operation("putTools");
export const { DELETE, GET, HEAD, OPTIONS, PATCH, POST } = otherMethods;
