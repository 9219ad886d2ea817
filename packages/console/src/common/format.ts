// Dates, times and numbers as people read them, in the language of the page.
import { locale } from './language.ts';
import { readBrowserPreference, writeBrowserPreference } from './preferences.ts';

export type Zone = 'local' | 'utc';

let zone: Zone = readBrowserPreference('zone') === 'utc' ? 'utc' : 'local';
const listeners = new Set<() => void>();

export const currentZone = (): Zone => zone;

/** Stores the zone in which all times are shown. */
export function switchZone(next: Zone): void {
  zone = next;
  writeBrowserPreference('zone', next);
  for (const listener of [...listeners]) listener();
}

export function subscribeZone(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

const zoned = (options: Intl.DateTimeFormatOptions): Record<Zone, Intl.DateTimeFormat> => ({
  local: new Intl.DateTimeFormat(locale, options),
  utc: new Intl.DateTimeFormat(locale, { ...options, timeZone: 'UTC' }),
});

const full = zoned({
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  timeZoneName: 'short',
});
const days = zoned({ year: 'numeric', month: 'short', day: 'numeric' });
const longDays = zoned({ weekday: 'long', year: 'numeric', month: 'long', day: 'numeric' });
const clock = zoned({ hour: '2-digit', minute: '2-digit', second: '2-digit' });
const numbers = new Intl.NumberFormat(locale);
const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });

export const formatNumber = (value: number): string => numbers.format(value);
/** Date, time and zone, such as "Nov 3, 2026, 14:05:09 GMT+1". */
export const formatMoment = (iso: string): string => full[zone].format(new Date(iso));
export const formatDay = (iso: string): string => days[zone].format(new Date(iso));
/** With the day of the week, for headings. */
export const formatLongDay = (iso: string): string => longDays[zone].format(new Date(iso));
export const formatClock = (iso: string): string => clock[zone].format(new Date(iso));
/** The abbreviation of the zone in which times are shown, such as "UTC" or "GMT+1", at that time of the year. */
export const zoneName = (at: Date = new Date()): string =>
  full[zone].formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? 'UTC';

const units: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['year', 365 * 86_400],
  ['month', 30 * 86_400],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];

/** Such as "3 hours ago", "in 2 days", "now". `now` is in milliseconds. */
export function formatAgo(iso: string, now: number = Date.now()): string {
  const seconds = (Date.parse(iso) - now) / 1_000;
  const unit = units.find(([, size]) => Math.abs(seconds) >= size);
  return unit ? relative.format(Math.trunc(seconds / unit[1]), unit[0]) : relative.format(0, 'second');
}

type DurationUnit = 'day' | 'hour' | 'minute' | 'second';

const durationUnits: readonly (readonly [DurationUnit, number])[] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
];

/** Rounds up to a whole unit, at least one second. */
function durationOf(seconds: number): [count: number, unit: DurationUnit] {
  const [unit, size] = durationUnits.find(([, one]) => seconds >= one) ?? (['second', 1] as const);
  return [Math.max(1, Math.ceil(seconds / size)), unit];
}

/** Such as "2 days", which is "2 Tage" in German. After a preposition, use `formatIn`: there it is "in 2 Tagen". */
export function formatDuration(seconds: number): string {
  const [count, unit] = durationOf(seconds);
  return new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(count);
}

/** Such as "in 2 days". The texts of a page have no "in" of their own: the case of the noun depends on it. */
export function formatIn(seconds: number): string {
  return new Intl.RelativeTimeFormat(locale, { numeric: 'always' }).format(...durationOf(seconds));
}
