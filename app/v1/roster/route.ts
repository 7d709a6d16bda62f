import { operation, otherMethods } from "#lib/server/next/next-host";

export const GET = operation("readRoster");
export const { DELETE, HEAD, OPTIONS, PATCH, POST, PUT } = otherMethods;
