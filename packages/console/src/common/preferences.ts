// Choices that this browser remembers: language, color scheme, time zone, columns. Nothing secret belongs here.

const PREFIX = 'castellan.';

/** Returns null if nothing is stored, or if the browser blocks storage. */
export function readPreference(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

/** Null removes the preference. Without storage, the choice holds until the page is left. */
export function writePreference(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, value);
  } catch {
    // Storage is blocked or full.
  }
}
