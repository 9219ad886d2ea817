// The Big List of Naughty Strings in every field of every operation. HARDENING_SEED repeats a run.
// It must not judge a single answer: target.ts has the rules for all.
import { after } from 'node:test';
import { rounds, scenariosOf, spread } from '@castellan/testing/scenario';
import { asJson, inEveryField, openFields } from './every-field.ts';
import { naughtyStrings } from './hostile.ts';

const scenario = scenariosOf('fuzzing');
const all = await openFields({ after });

// In a full run every field of an operation gets every string; fields of all requests get different ones each time.
scenario('every field of every operation treats a naughty string from a superuser as text', (tally) =>
  inEveryField(all, tally, ['a superuser'], (field, _who, number) =>
    asJson(spread(naughtyStrings, field.common ? rounds(1, 8) : rounds(3, naughtyStrings.length), number)),
  ),
);

scenario('every field of every operation treats a naughty string from an ordinary user as text', (tally) =>
  inEveryField(all, tally, ['an ordinary user'], (field, _who, number) =>
    asJson(spread(naughtyStrings, field.common ? rounds(1, 8) : rounds(3, 60), number)),
  ),
);
