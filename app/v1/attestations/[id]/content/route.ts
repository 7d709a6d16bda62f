import { operation, otherMethods } from "#lib/server/next/api-route";

export const DELETE = operation("eraseContent");
export const { GET, HEAD, OPTIONS, PATCH, POST, PUT } = otherMethods;
