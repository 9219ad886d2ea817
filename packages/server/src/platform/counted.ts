// Writes numbers in sentences.
import type { Language } from './languages.ts';

/** Returns the number with its noun: `1 role`, `2 roles`. For nouns whose plural adds an s. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

type Forms = { one: string; other: string };

const units: Readonly<Record<Language, { hour: Forms; minute: Forms }>> = {
  en: { hour: { one: 'hour', other: 'hours' }, minute: { one: 'minute', other: 'minutes' } },
  de: { hour: { one: 'Stunde', other: 'Stunden' }, minute: { one: 'Minute', other: 'Minuten' } },
};

// Settings in minutes have at most nine decimals.
const MAX_DECIMALS = 9;

/** Returns a duration: `24 hours`, `30 minutes`, `1 minute`, `0.5 minutes`; in German `0,5 Minuten`. */
export function duration(minutes: number, language: Language = 'en'): string {
  const isHours = minutes >= 60 && minutes % 60 === 0;
  const count = isHours ? minutes / 60 : minutes;
  const forms = units[language][isHours ? 'hour' : 'minute'];
  const isOne = new Intl.PluralRules(language).select(count) === 'one';
  const shown = new Intl.NumberFormat(language, { maximumFractionDigits: MAX_DECIMALS }).format(count);
  return `${shown} ${isOne ? forms.one : forms.other}`;
}
