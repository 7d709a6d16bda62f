/** A check box for each of the names that can be chosen together, and why the choice was refused. */
import { Checkbox, FieldError } from "#components/ui/field";

interface ChoiceFieldsProps<Name extends string> {
  readonly name: string;
  readonly legend: string;
  readonly offered: readonly Name[];
  readonly hints: Readonly<Record<Name, string>>;
  readonly chosen: readonly string[];
  readonly error: string | undefined;
}

export function ChoiceFields<Name extends string>(props: ChoiceFieldsProps<Name>) {
  const { name, legend, offered, hints, chosen, error } = props;
  const errorId = `${name}-error`;
  return (
    <fieldset {...(error ? { "aria-describedby": errorId } : {})}>
      <legend className="font-medium text-[15px]">{legend}</legend>
      <div className="mt-1 grid gap-x-6 sm:grid-cols-2">
        {offered.map((one) => (
          <Checkbox
            key={one}
            name={name}
            value={one}
            label={one}
            hint={hints[one]}
            defaultChecked={chosen.includes(one)}
          />
        ))}
      </div>
      <FieldError id={errorId} error={error} />
    </fieldset>
  );
}
