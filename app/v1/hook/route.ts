import { operation, otherMethods } from "#lib/server/next/api-route";

export const POST = operation("agent_hook");
export const { DELETE, GET, HEAD, OPTIONS, PATCH, PUT } = otherMethods;
