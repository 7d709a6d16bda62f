import { operation, otherMethods } from "#lib/runtime/server/next-routes";

export const PUT = operation("putTools");
export const { DELETE, GET, HEAD, OPTIONS, PATCH, POST } = otherMethods;
