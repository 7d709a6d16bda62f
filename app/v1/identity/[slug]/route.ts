import { operation, otherMethods } from "#lib/server/next/next-host";

export const GET = operation("readIdentity");
export const PATCH = operation("updateIdentity");
export const { DELETE, HEAD, OPTIONS, POST, PUT } = otherMethods;
