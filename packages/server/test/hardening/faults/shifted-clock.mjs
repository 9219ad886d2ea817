// Loaded into a service before its own modules (node --import): its clock then runs beside the true one by as many
// milliseconds as the file named in CLOCK_SHIFT_FILE says at the moment. It must not touch the monotonic clock.
import { readFileSync } from 'node:fs';

const TrueDate = Date;
/** A test that moves the clock waits for no longer than this, milliseconds. */
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
