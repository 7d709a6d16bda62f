"use client";
/**
 * False in the server's HTML and while that is hydrated. What does nothing without its script is not offered before:
 * a press would be lost. Its place is kept, so that nothing moves when the script arrives.
 */
import { useSyncExternalStore } from "react";

const never = () => () => {};

export const useIsReady = (): boolean =>
  useSyncExternalStore(
    never,
    () => true,
    () => false,
  );
