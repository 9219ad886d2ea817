// The Big List of Naughty Strings in every field of every operation. HARDENING_SEED repeats a run.
// It must not judge a single answer: target.ts says what holds of all.
import { after } from 'node:test';
import { rounds, scenariosOf } from '../scenario.ts';
import { asJson, inEveryField, openFields, spread } from './every-field.ts';
import { naughtyStrings } from './hostile.ts';

const scenario = scenariosOf('fuzzing');
const all = await openFields({ after });

// In a full run every field of an operation gets every string; what stands in all requests gets others each time.
scenario('no field of any operation takes a naughty string from a superuser for anything but text', (tally) =>
  inEveryField(all, tally, ['a superuser'], (field, _who, number) =>
    asJson(spread(naughtyStrings, field.common ? rounds(1, 8) : rounds(8, naughtyStrings.length), number)),
  ),
);

scenario(
  'no field of any operation takes a naughty string from an ordinary user for anything but text',
  (tally) =>
    inEveryField(all, tally, ['an ordinary user'], (field, _who, number) =>
      asJson(spread(naughtyStrings, field.common ? rounds(1, 8) : rounds(8, 60), number)),
    ),
);
