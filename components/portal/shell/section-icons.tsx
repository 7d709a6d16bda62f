/** Icons of the portal's sections, drawn by the server: the navigation's script has none. */

import type { ReactNode } from "react";
import {
  ArrowPathRoundedSquareIcon,
  ClipboardDocumentListIcon,
  CodeBracketIcon,
  Cog6ToothIcon,
  CommandLineIcon,
  CpuChipIcon,
  DocumentCheckIcon,
  HandThumbUpIcon,
  HomeIcon,
  InboxIcon,
  KeyIcon,
  ScaleIcon,
  UsersIcon,
} from "#components/ui/icons";
import type { SectionHref } from "./portal-sections";

const icons = {
  "/portal": HomeIcon,
  "/portal/inbox": InboxIcon,
  "/portal/authorizations": HandThumbUpIcon,
  "/portal/standing": ArrowPathRoundedSquareIcon,
  "/portal/approvers": UsersIcon,
  "/portal/rules": ScaleIcon,
  "/portal/agents": CpuChipIcon,
  "/portal/attestations": DocumentCheckIcon,
  "/portal/keys": KeyIcon,
  "/portal/webhooks": CodeBracketIcon,
  "/portal/requests": CommandLineIcon,
  "/portal/audit": ClipboardDocumentListIcon,
  "/portal/settings": Cog6ToothIcon,
} as const satisfies Record<SectionHref, typeof HomeIcon>;

export const sectionIcons = Object.fromEntries(
  Object.entries(icons).map(([href, Icon]) => [
    href,
    <Icon key={href} aria-hidden="true" className="mr-2 size-[18px] shrink-0" />,
  ]),
) as Readonly<Record<SectionHref, ReactNode>>;
