/** The portal's forms about approvers: who they are, and which emails each gets. */
import { z } from "zod";
import { keyRequestBody } from "./keys";
import { cursorText } from "./portal-attestations";
import { approverName } from "./primitives";

const id = z.uuid("must be an id");
const checked = z.literal("on").optional();
const emptyAsNull = (value: unknown) => (value === "" ? null : value);

export const approverForm = z.object({ name: approverName, email: keyRequestBody.shape.email });
export const approverIdForm = z.object({ approver_id: id });

/** Without an id: a new one. */
export const groupForm = z.object({
  group_id: z.preprocess(emptyAsNull, id.nullish()),
  name: approverName,
  members: z.preprocess((value) => (value === undefined ? [] : [value].flat()), z.array(id).max(100)),
});
export const groupIdForm = z.object({ group_id: id });
export const defaultGroupForm = z.object({ group_id: z.preprocess(emptyAsNull, id.nullable()) });

export const passkeyIdForm = z.object({ approver_id: id, passkey_id: id });
export const requesterForm = z.object({ requester_may_approve: z.enum(["yes", "no"]) });

const noticeRequests = ["all", "named", "none"] as const;
export const noticeForm = z.object({
  organization_id: id,
  requests: z.enum(noticeRequests, "must be one of the choices"),
  decisions: checked,
  reminders: checked,
});

export const inboxFilters = z.object({
  show: z.enum(["waiting", "decided"]).catch("waiting"),
  cursor: cursorText,
});
