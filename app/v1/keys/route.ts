import { operation, otherMethods } from "#lib/server/next/api-route";

export const DELETE = operation("deleteKey");
export const { GET, HEAD, OPTIONS, PATCH, POST, PUT } = otherMethods;
