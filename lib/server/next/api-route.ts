/**
 * Next's route files for the API (app/v1/…): one file for each path, one line for each method, naming the operation
 * that answers it. The handlers are the very ones that the production server dispatches to. A module of its own: with
 * what builds the app, each route would bring that along, a second of build and 600 KB apiece.
 */
import { forOwnHosts } from "#lib/api/http/host-check";
import type { OperationId } from "#lib/api/operations/index";
import { dispatch, findHandler } from "#lib/server/operations";

export const operation = (id: OperationId) => forOwnHosts(findHandler(id));

const rest = forOwnHosts(dispatch);

/** Answers methods that a path does not have: HEAD and OPTIONS as the table says, 405 in the API's shape otherwise. */
export const otherMethods = {
  DELETE: rest,
  GET: rest,
  HEAD: rest,
  OPTIONS: rest,
  PATCH: rest,
  POST: rest,
  PUT: rest,
};
