// What a browser remembers: some choices for everybody who uses it, the others for each person. Nothing secret belongs here.

const PREFIX = 'castellan.';

/** The id of the signed-in person. Another person loads the page anew. */
let person = '';

/** Call it before a page of the person renders. Until then, their choices count as not made. */
export function rememberFor(id: string): void {
  person = id;
}

/** The language and the time zone also show to people who are not signed in. Returns null if nothing is stored. */
export function readBrowserPreference(name: string): string | null {
  // The browser may block storage.
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

/** Null removes the preference. Without storage, the choice holds until the page is left. */
export function writeBrowserPreference(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, value);
  } catch {
    // Storage is blocked or full.
  }
}

/** Returns what the signed-in person has chosen in this browser, such as columns; null if they have not. */
export const readPreference = (name: string): string | null => readBrowserPreference(`${person}.${name}`);

/** Null removes the preference of the signed-in person. */
export const writePreference = (name: string, value: string | null): void =>
  writeBrowserPreference(`${person}.${name}`, value);
