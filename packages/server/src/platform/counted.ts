// Writes numbers in sentences.

/** Returns the number with its noun: `1 role`, `2 roles`. For nouns whose plural adds an s. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** Returns a duration: `24 hours`, `30 minutes`, `1 minute`, `0.5 minutes`. */
export function duration(minutes: number): string {
  const isHours = minutes >= 60 && minutes % 60 === 0;
  return isHours ? counted(minutes / 60, 'hour') : counted(minutes, 'minute');
}
