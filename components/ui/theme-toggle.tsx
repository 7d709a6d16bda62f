"use client";
import { useState } from "react";
/** Steps through system, light and dark. Without JavaScript the system's setting applies. */
import { ComputerDesktopIcon, MoonIcon, SunIcon } from "#components/ui/icons";
import { type Theme, themeCookieName } from "./theme";
import { useIsReady } from "./use-is-ready";

const next = { system: "light", light: "dark", dark: "system" } as const;
const icons = { system: ComputerDesktopIcon, light: SunIcon, dark: MoonIcon } as const;
const yearSeconds = 31_536_000;

function applyTheme(theme: Theme): void {
  const root = document.documentElement;
  if (theme === "system") root.removeAttribute("data-theme");
  else root.setAttribute("data-theme", theme);
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is missing in Safari before 18.4
  document.cookie = `${themeCookieName}=${theme}; Path=/; Max-Age=${yearSeconds}; SameSite=Lax`;
}

export function ThemeToggle({ initial }: { readonly initial: Theme }) {
  const [theme, setTheme] = useState<Theme>(initial);
  const isReady = useIsReady();
  const Icon = icons[theme];
  return (
    <button
      type="button"
      className={`inline-flex size-9 shrink-0 items-center justify-center rounded-md text-muted hover:bg-sunken hover:text-ink ${isReady ? "" : "invisible"}`}
      aria-label={`Theme: ${theme}. Change to ${next[theme]}`}
      title={`Theme: ${theme}`}
      onClick={() => {
        applyTheme(next[theme]);
        setTheme(next[theme]);
      }}
    >
      <Icon aria-hidden="true" className="size-[18px]" />
    </button>
  );
}
