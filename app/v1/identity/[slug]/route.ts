import { operation, otherMethods } from "#lib/server/next/api-route";

export const GET = operation("readIdentity");
export const PATCH = operation("updateIdentity");
export const { DELETE, HEAD, OPTIONS, POST, PUT } = otherMethods;
