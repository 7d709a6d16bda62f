import { operation, otherMethods } from "#lib/runtime/server/next-routes";

export const GET = operation("servedPackage");
export const { DELETE, HEAD, OPTIONS, PATCH, POST, PUT } = otherMethods;
