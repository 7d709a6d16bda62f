import { operation, otherMethods } from "#lib/server/next/next-host";

export const DELETE = operation("cancelAuthorization");
export const GET = operation("readAuthorization");
export const { HEAD, OPTIONS, PATCH, POST, PUT } = otherMethods;
