// Amounts in messages: 12,345 rows, 23.4 MB.

export const count = (value: number): string => value.toLocaleString('en');

export const amount = (value: number, noun: string): string =>
  `${count(value)} ${noun}${value === 1 ? '' : 's'}`;

const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];

/** Decimal units, with one digit below 100. */
export function size(bytes: number): string {
  let value = bytes;
  let unit = 0;
  for (; value >= 1_000 && unit < units.length - 1; unit += 1) value /= 1_000;
  return `${unit === 0 || value >= 100 ? count(Math.round(value)) : value.toFixed(1)} ${units[unit]}`;
}
