/** The confirmation code, asked for where a link alone must not decide. */
import { Callout } from "#components/ui/callout";
import { describeControl, Field, Input } from "#components/ui/field";
import { maxWrongCodes } from "#lib/api/schemas/approval-page";

/** Longer than the code with any hyphen or space in it. */
const maxTypedLength = 16;

interface CodeFieldProps {
  readonly id: string;
  readonly value?: string;
  readonly onType?: (code: string) => void;
  /** Set after an attempt to decide without the code. */
  readonly isMissed?: boolean;
}

export function CodeField({ id, value, onType, isMissed = false }: CodeFieldProps) {
  return (
    <Field
      id={id}
      label="Confirmation code"
      hint={
        <>
          The agent showed it to its operator, for example <span className="whitespace-nowrap">K7Q-F2M</span>.
          You need it to approve or deny. If nobody gave you one, you can close this page: nothing is decided
          without it.
        </>
      }
      {...(isMissed ? { error: "enter the code first" } : {})}
    >
      <Input
        {...describeControl(id, { hint: true, error: isMissed })}
        name="code"
        autoComplete="off"
        autoCapitalize="characters"
        spellCheck={false}
        maxLength={maxTypedLength}
        className="max-w-48 font-mono uppercase tracking-[0.12em]"
        {...(onType === undefined ? {} : { value, onChange: (event) => onType(event.target.value) })}
      />
    </Field>
  );
}

/** Shown to the person who decides: somebody guessed or mistyped. */
export function WrongCodes({ triesLeft }: { readonly triesLeft: number }) {
  const wrong = maxWrongCodes - triesLeft;
  if (wrong <= 0) return null;
  return (
    <Callout
      tone="warn"
      title={wrong === 1 ? "A wrong code was entered" : `A wrong code was entered ${wrong} times`}
    >
      After {maxWrongCodes} wrong codes the request is cancelled.{" "}
      {triesLeft === 1 ? "One try is" : `${triesLeft} tries are`} left. If it wasn't you, somebody else has
      this link.
    </Callout>
  );
}
