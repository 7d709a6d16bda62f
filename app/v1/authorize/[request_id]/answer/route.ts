import { operation, otherMethods } from "#lib/server/next/api-route";

export const POST = operation("answerQuestion");
export const { DELETE, GET, HEAD, OPTIONS, PATCH, PUT } = otherMethods;
