/** Passkey actions of a page: server actions, each for the person that its page is about. */
import type { PublicKeyCredentialCreationOptionsJSON } from "@simplewebauthn/browser";
import type { PasskeyAnswer } from "#lib/api/schemas/rosters";

export interface PasskeyActions {
  readonly begin: () => Promise<PasskeyAnswer<PublicKeyCredentialCreationOptionsJSON>>;
  readonly finish: (name: string, response: unknown) => Promise<PasskeyAnswer<{ isListed: boolean }>>;
  readonly rename: (passkeyId: string, name: string) => Promise<PasskeyAnswer>;
  readonly remove: (passkeyId: string) => Promise<PasskeyAnswer>;
}

/** Next step of a person who has a passkey. */
export const approveNext =
  "When an agent needs your approval, you get an email with a link. Read the request, press Approve with passkey, and unlock this device.";
