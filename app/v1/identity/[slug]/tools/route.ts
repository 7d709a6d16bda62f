import { operation, otherMethods } from "#lib/server/next/api-route";

export const PUT = operation("putTools");
export const { DELETE, GET, HEAD, OPTIONS, PATCH, POST } = otherMethods;
