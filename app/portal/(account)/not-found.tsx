/** 404 within the portal's frame. */
import type { Metadata } from "next";
import { PortalNotFound } from "#components/portal/shell/portal-not-found";

export const metadata: Metadata = { title: "Not found" };

export default PortalNotFound;
