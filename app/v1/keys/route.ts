import { operation, otherMethods } from "#lib/server/next/next-host";

export const DELETE = operation("deleteKey");
export const { GET, HEAD, OPTIONS, PATCH, POST, PUT } = otherMethods;
