/** SCIM 2.0, by which a company's directory says who its people are. RFC 7644 documents it, so the OpenAPI document doesn't. */
import { scimBody, scimKinds, scimListQuery, scimPatchBody, scimPickQuery } from "#lib/api/schemas/scim";
import { type OperationSpec, withKey } from "./operation";

const common = {
  tag: "Service",
  auth: withKey("scim"),
  limit: "keyed",
  internal: true,
  isScim: true,
} as const;
/** A group of a thousand people. */
const maxBodyBytes = 256 * 1024;

const describe = (path: string, summary: string) =>
  ({
    ...common,
    method: "GET",
    path: `/scim/v2${path}`,
    summary,
    responses: { 200: null },
    errors: [],
  }) as const;

const create = (path: string, summary: string) =>
  ({
    ...common,
    method: "POST",
    path: `/scim/v2${path}`,
    summary,
    body: scimBody,
    maxBodyBytes,
    responses: { 201: null },
    errors: [409],
  }) as const;

const list = (path: string, summary: string) =>
  ({ ...describe(path, summary), query: scimListQuery }) as const;
const read = (path: string, summary: string) =>
  ({ ...describe(`${path}/{id}`, summary), query: scimPickQuery, errors: [404] }) as const;
const replace = (path: string, summary: string) =>
  ({
    ...create(`${path}/{id}`, summary),
    method: "PUT",
    responses: { 200: null },
    errors: [404, 409],
  }) as const;
const patch = (path: string, summary: string) =>
  ({ ...replace(path, summary), method: "PATCH", body: scimPatchBody }) as const;
const remove = (path: string, summary: string) =>
  ({
    ...describe(`${path}/{id}`, summary),
    method: "DELETE",
    responses: { 204: null },
    errors: [404],
  }) as const;

const { User, Group } = scimKinds;

export const scimOperations = {
  describeScim: describe("/ServiceProviderConfig", "What this service can do of SCIM 2.0"),
  listResourceTypes: describe("/ResourceTypes", "Kinds of resources"),
  readResourceType: describe("/ResourceTypes/{id}", "A kind of resources"),
  listScimSchemas: describe("/Schemas", "Schemas of resources"),
  readScimSchema: describe("/Schemas/{id}", "A schema of resources"),
  createDirectoryUser: create(User.path, "Add a person of the directory"),
  listDirectoryUsers: list(User.path, "People of the directory"),
  readDirectoryUser: read(User.path, "A person of the directory"),
  replaceDirectoryUser: replace(User.path, "Replace a person of the directory"),
  patchDirectoryUser: patch(User.path, "Change, activate or deactivate a person of the directory"),
  removeDirectoryUser: remove(User.path, "Remove a person of the directory"),
  createDirectoryGroup: create(Group.path, "Add a group of the directory"),
  listDirectoryGroups: list(Group.path, "Groups of the directory"),
  readDirectoryGroup: read(Group.path, "A group of the directory"),
  replaceDirectoryGroup: replace(Group.path, "Replace a group of the directory"),
  patchDirectoryGroup: patch(Group.path, "Change a group of the directory"),
  removeDirectoryGroup: remove(Group.path, "Remove a group of the directory"),
} as const satisfies Record<string, OperationSpec>;
