"use client";
/** Takes a file by choosing or dropping it. What is done with it is the parent's. */
import { type ReactNode, useState } from "react";
import { Field, FileInput } from "#components/ui/field";
import { useIsReady } from "#components/ui/use-is-ready";

interface FileDropProps {
  readonly id: string;
  readonly label: string;
  readonly hint?: ReactNode;
  readonly onFile: (file: File) => void;
}

export function FileDrop({ id, label, hint, onFile }: FileDropProps) {
  const [isOver, setIsOver] = useState(false);
  const isReady = useIsReady();
  const take = (file: File | undefined) => {
    if (file !== undefined) onFile(file);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping is a second way; the field inside has the keyboard
    <div
      onDragOver={(event) => {
        event.preventDefault();
        setIsOver(true);
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setIsOver(false);
        take(event.dataTransfer.files[0]);
      }}
      className={`rounded-lg border-2 border-dashed px-4 py-4 sm:px-6 ${isOver ? "border-accent bg-accent-soft" : "border-line-strong"}`}
    >
      <Field id={id} label={label} hint={hint}>
        <FileInput
          id={id}
          disabled={!isReady}
          {...(hint === undefined ? {} : { "aria-describedby": `${id}-hint` })}
          onChange={(event) => take(event.target.files?.[0])}
        />
      </Field>
    </div>
  );
}
