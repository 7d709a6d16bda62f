import { operation, otherMethods } from "#lib/server/next/api-route";

export const GET = operation("readWebhook");
export const PATCH = operation("updateWebhook");
export const DELETE = operation("deleteWebhook");
export const { HEAD, OPTIONS, POST, PUT } = otherMethods;
