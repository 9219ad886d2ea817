// Moments between the service, which has them in UTC, and inputs of the type `datetime-local`, which have no zone.
import type { Zone } from '../../../common/format.ts';

const padded = (value: number, length: number): string => String(value).padStart(length, '0');

/** Returns the moment as the clock of the zone shows it, such as 2026-11-03T14:05; empty for undefined. */
export function toInput(moment: string | undefined, zone: Zone): string {
  if (moment === undefined) return '';
  const at = new Date(moment);
  const [year, month, day, hours, minutes] =
    zone === 'utc'
      ? [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate(), at.getUTCHours(), at.getUTCMinutes()]
      : [at.getFullYear(), at.getMonth(), at.getDate(), at.getHours(), at.getMinutes()];
  return `${padded(year, 4)}-${padded(month + 1, 2)}-${padded(day, 2)}T${padded(hours, 2)}:${padded(minutes, 2)}`;
}

/** Returns the moment in UTC; undefined for a text that is no time, such as an input that is half filled in. */
export function fromInput(text: string, zone: Zone): string | undefined {
  // Without a zone, the language takes it for the local one.
  const at = new Date(zone === 'utc' && text !== '' ? `${text}Z` : text);
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}
