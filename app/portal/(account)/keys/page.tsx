/** /portal/keys: API keys, created here or through the API with the same address. */
import type { Metadata } from "next";
import { hookSteps, requestKeyCommand } from "#components/commands";
import { CreateKeyForm } from "#components/portal/keys/create-key-form";
import { LimitKeyDialog, RevokeKeyDialog, RotateKeyDialog } from "#components/portal/keys/key-dialogs";
import { KeyTable } from "#components/portal/keys/key-table";
import { PortalPage } from "#components/portal/organization/shown-organization";
import { writeOwnSamples } from "#components/portal/overview/write-own-samples";
import { PageHeading } from "#components/portal/shell/page-heading";
import { ButtonLink } from "#components/ui/button-link";
import { Card } from "#components/ui/card";
import { CursorPagination } from "#components/ui/cursor-pagination";
import { EmptyState } from "#components/ui/empty-state";
import { cursorId } from "#lib/api/schemas/portal";
import { hexEncode } from "#lib/protocol/encoding/bytes";
import { toVisibleText } from "#lib/protocol/text/display-text";
import { requirePortal, type SearchPageProps } from "#lib/server/pages/portal-request";
import { mayAct } from "#lib/services/accounts/members";
import { listAgentSlugs } from "#lib/services/attestations/own";
import { listApiKeys } from "#lib/services/keys/api-keys";
import { readKeyUsage } from "#lib/services/portal/overview";
import { createKey, limitKey, revokeKey, rotateKey } from "./actions";

export const metadata: Metadata = { title: "Keys" };

const pageSize = 20;

/** No other organization has a name that ends in 32 random bits. */
const newSlug = (name: string, random: (length: number) => Uint8Array) => `${name}-${hexEncode(random(4))}`;

export default async function KeysPage({ searchParams }: SearchPageProps) {
  const { context, person, app, membership } = await requirePortal("/portal/keys");
  const cursor = cursorId.parse((await searchParams)["cursor"]);
  const { rows, nextCursor } = await listApiKeys(context, person, { cursor, limit: pageSize });
  const usage = await readKeyUsage(context, person);
  const isOwner = membership.role === "owner";
  const mayOperate = mayAct(membership.role, "operate");
  const [slug = newSlug("invoice-bot", context.random)] = await listAgentSlugs(context, person);
  const samples = writeOwnSamples(app.env.baseUrl, slug);
  return (
    <PortalPage organizationId={person.organizationId}>
      <PageHeading
        title="Keys"
        lead="API keys that your agents use. Includes keys members created through the API."
        action={mayOperate ? <ButtonLink href="#new">Create a key</ButtonLink> : null}
      />
      <Card title="All keys">
        <KeyTable
          rows={rows}
          usage={usage}
          actions={({ id, name, scopes, attestationsPerDay }) =>
            !mayOperate ? (
              <span className="text-muted">none</span>
            ) : (
              <span className="flex flex-wrap gap-2">
                {isOwner || !scopes.includes("erase") ? (
                  <RotateKeyDialog action={rotateKey} keyId={id} name={toVisibleText(name)} />
                ) : null}
                {mayAct(membership.role, "limit") ? (
                  <LimitKeyDialog
                    action={limitKey}
                    keyId={id}
                    name={toVisibleText(name)}
                    perDay={attestationsPerDay}
                  />
                ) : null}
                <RevokeKeyDialog action={revokeKey} keyId={id} name={toVisibleText(name)} />
              </span>
            )
          }
          empty={
            <EmptyState
              title="No keys yet"
              command={{
                label: "Or request one by email",
                code: requestKeyCommand(app.env.baseUrl, person.email),
              }}
            >
              Create one with the form below. An agent without a browser can have a code sent to you instead:
            </EmptyState>
          }
        />
        <CursorPagination
          label="keys"
          {...(cursor === undefined ? {} : { firstHref: "/portal/keys" })}
          {...(nextCursor === null ? {} : { nextHref: `/portal/keys?cursor=${nextCursor}` })}
        />
      </Card>
      {mayOperate ? (
        <Card title="New key" className="mt-5" id="new">
          <CreateKeyForm
            action={createKey}
            isOwner={isOwner}
            mayLimit={mayAct(membership.role, "limit")}
            samples={samples}
            // A coding agent's calls don't go into the record of another agent.
            hookSteps={hookSteps(app.env.baseUrl, newSlug("coder", context.random))}
          />
        </Card>
      ) : null}
    </PortalPage>
  );
}
