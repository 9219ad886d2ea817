// Which language a page speaks, and the words that depend on numbers.
// It must not contain texts: those are in the folders `messages`.
import type { Language } from './languages.ts';
import { pageSettings } from './page-settings.ts';
import { readBrowserPreference, writeBrowserPreference } from './preferences.ts';

export { type Language, languages } from './languages.ts';

const isLanguage = (tag: string | null | undefined): tag is Language =>
  tag === 'en' || tag === 'de' || tag === 'en-XB';

/** The rule of public/theme.js, too, which may not have run yet. `ui_locales`: what an application asks for. */
function chooseLanguage(): Language {
  const chosen = readBrowserPreference('language');
  if (isLanguage(chosen)) return chosen;
  const asked = new URLSearchParams(globalThis.location?.search).get('ui_locales');
  const wanted = [asked ?? '', ...navigator.languages].map((tag) => tag.split('-')[0]);
  return [...wanted, pageSettings.language].find(isLanguage) ?? 'en';
}

export const language: Language = chooseLanguage();

/** For `Intl`. */
export const locale: string = language === 'en-XB' ? 'en' : language;

/** Stores the choice and loads the page again in that language. */
export function switchLanguage(tag: Language): void {
  writeBrowserPreference('language', tag);
  location.reload();
}

/** Tells the browser the language and the direction of the page. */
export function markDocument(): void {
  document.documentElement.lang = language;
  document.documentElement.dir = language === 'en-XB' ? 'rtl' : 'ltr';
}

/** The forms of a text that depends on a number. `#` stands for the number; languages without `one` use `other`. */
export type Forms = { one?: string; other: string };

/** Returns a function that chooses the form for a number and inserts it, such as "1 role" and "2,300 roles". */
export function createPlural(tag: string): (count: number, forms: Forms) => string {
  const rules = new Intl.PluralRules(tag);
  const numbers = new Intl.NumberFormat(tag);
  return (count, forms) => {
    const form = rules.select(count) === 'one' ? (forms.one ?? forms.other) : forms.other;
    return form.replace('#', numbers.format(count));
  };
}

/** Returns the same texts in brackets. */
export function pseudo<T>(texts: T): T;
export function pseudo(texts: unknown): unknown {
  if (typeof texts === 'string') return `⟦${texts}⟧`;
  if (typeof texts === 'function') return (...args: unknown[]) => pseudo(texts(...args));
  if (Array.isArray(texts)) return texts.map((one) => pseudo(one));
  if (typeof texts === 'object' && texts !== null)
    return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, pseudo(text)]));
  return texts;
}
