import { operation, otherMethods } from "#lib/server/next/api-route";

export const GET = operation("readRules");
export const PUT = operation("putRules");
export const { DELETE, HEAD, OPTIONS, PATCH, POST } = otherMethods;
