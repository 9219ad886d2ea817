// Writes numbers in sentences.
import type { Language } from './languages.ts';

/** Returns the number with its noun: `1 role`, `2 roles`. For nouns whose plural adds an s. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

type Forms = { one: string; other: string };

const units: Readonly<Record<Language, { day: Forms; hour: Forms; minute: Forms }>> = {
  en: {
    day: { one: 'day', other: 'days' },
    hour: { one: 'hour', other: 'hours' },
    minute: { one: 'minute', other: 'minutes' },
  },
  de: {
    day: { one: 'Tag', other: 'Tage' },
    hour: { one: 'Stunde', other: 'Stunden' },
    minute: { one: 'Minute', other: 'Minuten' },
  },
};

// Settings in minutes have at most nine decimals.
const MAX_DECIMALS = 9;

const minutesIn = { day: 24 * 60, hour: 60, minute: 1 } as const;

/** Returns the largest unit of which it is a whole number; a day only from two on, because people say `24 hours`. */
function unitOf(minutes: number): keyof typeof minutesIn {
  if (minutes >= 2 * minutesIn.day && minutes % minutesIn.day === 0) return 'day';
  return minutes >= minutesIn.hour && minutes % minutesIn.hour === 0 ? 'hour' : 'minute';
}

/** Returns a duration: `7 days`, `24 hours`, `30 minutes`, `1 minute`, `0.5 minutes`; in German `0,5 Minuten`. */
export function duration(minutes: number, language: Language = 'en'): string {
  const unit = unitOf(minutes);
  const count = minutes / minutesIn[unit];
  const forms = units[language][unit];
  const isOne = new Intl.PluralRules(language).select(count) === 'one';
  const shown = new Intl.NumberFormat(language, { maximumFractionDigits: MAX_DECIMALS }).format(count);
  return `${shown} ${isOne ? forms.one : forms.other}`;
}
