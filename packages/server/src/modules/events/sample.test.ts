// The samples are events as they are sent.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderEvent } from '@castellan/contract/event-messages';
import { entryDetails, eventSchema, eventTypes } from '@castellan/contract/events';
import { Compile } from 'typebox/compile';
import { sampleEntry } from './sample.ts';

test('the sample of every type fits its schemas, with personal data and without', () => {
  for (const type of eventTypes) {
    const entry = sampleEntry(type);
    assert.deepEqual(Compile(entryDetails(type)).Errors(entry.details), [], type);
    const validator = Compile(eventSchema(type));
    for (const personal of [true, false]) {
      const event = renderEvent(entry, { sequence: 1, replay: false, personal, test: true });
      assert.deepEqual(validator.Errors(event), [], type);
      const text = JSON.stringify(event);
      if (!personal) assert.doesNotMatch(text, /@example\.com|203\.0\.113|Mozilla|Lovelace/, type);
    }
  }
});

test('a sample has the members of its type', () => {
  const { details, resource_type } = sampleEntry('role_created');
  assert.deepEqual([resource_type, details.before], ['role', null]);
  assert.deepEqual(Object.keys(Object(details.after)).includes('permissions'), true);
  assert.deepEqual(sampleEntry('logout'), sampleEntry('logout'));
});
