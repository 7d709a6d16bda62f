import { operation, otherMethods } from "#lib/server/next/next-host";

export const GET = operation("downloadBundle");
export const { DELETE, HEAD, OPTIONS, PATCH, POST, PUT } = otherMethods;
