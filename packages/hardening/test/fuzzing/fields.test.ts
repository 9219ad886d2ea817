// Wrong types, long texts, keys of prototypes and generated text in every field of every operation, from a superuser
// and from an ordinary user. It must not judge a single answer: target.ts has the rules for all.
import { after } from 'node:test';
import { isFull, rounds, scenariosOf, spread } from '@castellan/testing/scenario';
import fc from 'fast-check';
import { asJson, inEveryField, openFields, textOf } from './every-field.ts';
import { attempt, type Field, withKey } from './fields.ts';
import { hostileText, longTexts, oddJson, prototypeKeys, prototypeValues } from './hostile.ts';
import { AT_ONCE, sendAll, throughOperations } from './operations.ts';
import { seed, type Who } from './target.ts';

const scenario = scenariosOf('fuzzing');
const all = await openFields({ after });
const { target, fields } = all;
const callers: readonly Who[] = ['a superuser', 'an ordinary user'];

scenario(
  'wrong types and numbers at their limits are accepted as documented or refused, in every field',
  (tally) =>
    inEveryField(all, tally, callers, (field, _who, number) =>
      field.common ? [] : spread(oddJson, rounds(2, oddJson.length), number),
    ),
);

scenario(
  'texts of ten thousand to a million characters are accepted as documented or refused, in every field',
  (tally) =>
    inEveryField(all, tally, callers, (field, who, number) => {
      if (field.common && !isFull) return [];
      const some = (length: number) =>
        spread(longTexts(length), rounds(1, who === 'a superuser' ? 14 : 2), number + Math.floor(number / 4));
      // Texts cut to the length of paths and headers represent the longer ones there.
      if (field.in !== 'body') return asJson(some(10_000));
      const largest = isFull || number % 16 === 0 ? spread(longTexts(1_000_000), 1, number / 16) : [];
      // Just below the limits of the schemas, which are four times those of the text, and beyond all of them.
      const lengths = [390, 3_900, 10_000, 60_000];
      return asJson((isFull ? lengths : lengths.slice(number % 4).slice(0, 1)).flatMap(some).concat(largest));
    }),
);

scenario(
  'keys of prototypes change no prototype and grant no rights, at every depth and in every query',
  (tally) => {
    let number = 0;
    return throughOperations(target, tally, callers, async (who, entry, records) => {
      const own = (fields.get(entry) ?? []).filter((field) => !field.common);
      const aimed = own.flatMap((field) => {
        number += 1;
        const keys = isFull ? prototypeKeys : spread(prototypeKeys, 1, number);
        const values = spread(prototypeValues, rounds(1, 3), Math.floor(number / prototypeKeys.length));
        const added = keys.flatMap((key) =>
          values.map((value) => withKey(field, { key, value }, number, records)),
        );
        const named = asJson(keys).map((json) => attempt(field, json, number, records));
        return [...added, ...named].map((one) => ({ shot: target.shotOf(entry, one) }));
      });
      await sendAll(target, tally, { who, entry }, aimed);
    });
  },
);

scenario(
  'generated text of all kinds of characters is accepted as documented or refused, in every field',
  (tally) =>
    throughOperations(target, tally, callers, async (who, entry, records) => {
      const own = (fields.get(entry) ?? []).filter((field) => isFull || !field.common);
      if (own.length === 0) return;
      const some = fc.array(
        fc.record({ field: fc.nat(own.length - 1), text: hostileText, spot: fc.nat(9) }),
        {
          minLength: 1,
          maxLength: AT_ONCE,
          size: 'max',
        },
      );
      await fc.assert(
        fc.asyncProperty(some, (cases) => {
          const aimed = cases.map(({ field, text, spot }) => {
            const chosen = own[field] as Field;
            const shot = target.shotOf(entry, attempt(chosen, JSON.stringify(text), spot, records));
            return { shot, refused: textOf(chosen, JSON.stringify(text)) };
          });
          return sendAll(target, tally, { who, entry }, aimed);
        }),
        { seed, numRuns: rounds(1, 5) + Math.ceil((own.length * rounds(1, 10)) / AT_ONCE) },
      );
    }),
);
