import { operation, otherMethods } from "#lib/server/next/api-route";

export const GET = operation("listWebhooks");
export const POST = operation("createWebhook");
export const { DELETE, HEAD, OPTIONS, PATCH, PUT } = otherMethods;
