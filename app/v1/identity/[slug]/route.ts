import { operation, otherMethods } from "#lib/runtime/server/next-routes";

export const GET = operation("readIdentity");
export const PATCH = operation("updateIdentity");
export const { DELETE, HEAD, OPTIONS, POST, PUT } = otherMethods;
