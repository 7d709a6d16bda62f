"use client";
/**
 * The organization that a page shows. One cookie chooses it for all tabs, so a page can be older than the choice, and the frame
 * around it older than the page. Every form tells the server which organization it was made for; if that is no longer the
 * chosen one, the server does nothing.
 */
import { type ComponentProps, createContext, type ReactNode, useContext, useEffect } from "react";
import { useRefresh } from "#components/ui/router";
import { shownOrganizationField } from "#lib/api/schemas/form-state";

interface ShownOrganizationProps {
  readonly organizationId: string;
  readonly children: ReactNode;
}

const InFrame = createContext<string | null>(null);
const OnPage = createContext<string | null>(null);

/** Around what the layout renders, which stays when only the page changes. */
export function PortalFrame({ organizationId, children }: ShownOrganizationProps) {
  return <InFrame value={organizationId}>{children}</InFrame>;
}

/** Around every page. A frame that names another organization is rendered again. */
export function PortalPage({ organizationId, children }: ShownOrganizationProps) {
  const isFrameStale = useContext(InFrame) !== organizationId;
  const refresh = useRefresh();
  useEffect(() => {
    if (isFrameStale) void refresh();
  }, [isFrameStale, refresh]);
  return <OnPage value={organizationId}>{children}</OnPage>;
}

interface PortalFormProps extends ComponentProps<"form"> {
  /** React resets a form after each answer, controlled selects and check boxes too; this one keeps what was chosen. */
  readonly keepsFields?: boolean;
}

/** The form of everything that is done for an organization. While frame and page differ it is for neither. */
export function PortalForm({ children, keepsFields = false, ...rest }: PortalFormProps) {
  const inFrame = useContext(InFrame);
  const onPage = useContext(OnPage);
  if (onPage === null) throw new Error("a form of the portal must be on a PortalPage");
  return (
    <form {...rest} {...(keepsFields ? { onReset: (event) => event.preventDefault() } : {})}>
      <input type="hidden" name={shownOrganizationField} value={inFrame === onPage ? onPage : ""} />
      {children}
    </form>
  );
}
