import { operation, otherMethods } from "#lib/server/next/api-route";

export const GET = operation("downloadScitt");
export const { DELETE, HEAD, OPTIONS, PATCH, POST, PUT } = otherMethods;
