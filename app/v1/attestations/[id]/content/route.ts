import { operation, otherMethods } from "#lib/server/next/next-host";

export const DELETE = operation("eraseContent");
export const { GET, HEAD, OPTIONS, PATCH, POST, PUT } = otherMethods;
