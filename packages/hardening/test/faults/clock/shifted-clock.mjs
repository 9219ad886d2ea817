// Loaded into a service before its own modules (node --import): shifts its clock by the milliseconds that the file
// named in CLOCK_SHIFT_FILE currently contains. It must not touch the monotonic clock.
import { readFileSync } from 'node:fs';

const TrueDate = Date;
/** How long a shift that was read stays in use, in milliseconds. */
const maxAgeMs = 20;
let shift = 0;
let readAt = Number.NEGATIVE_INFINITY;

function now() {
  if (performance.now() - readAt > maxAgeMs) {
    shift = Number(readFileSync(process.env.CLOCK_SHIFT_FILE, 'utf8'));
    readAt = performance.now();
  }
  return TrueDate.now() + shift;
}

globalThis.Date = class extends TrueDate {
  constructor(...given) {
    super(...(given.length === 0 ? [now()] : given));
  }

  static now() {
    return now();
  }
};
