// HTTP of /api/v1/webhooks/events: the types of events, for everybody who receives or chooses them.
// It must not tell what has happened here.
import { failureActions } from '@castellan/contract/audit';
import { type EventDescription, EventDescriptionsEnvelope } from '@castellan/contract/event-descriptions';
import { renderEvent } from '@castellan/contract/event-messages';
import {
  aboutOf,
  type EventType,
  eventEntry,
  eventSchema,
  eventTypes,
  versionOf,
} from '@castellan/contract/events';
import Type from 'typebox';
import { sendUnlessKnown } from '../../platform/http/answers/kept-text.ts';
import { createStaticText, type StaticText } from '../../platform/http/answers/static-text.ts';
import type { App } from '../../platform/http/server/server.ts';
import { sampleEntry } from './sample.ts';

// Changes only with the release.
const MAX_AGE_SECONDS = 3_600;

const failures: ReadonlySet<string> = new Set(failureActions);

const describe = (type: EventType): EventDescription => ({
  type,
  version: versionOf(type),
  description: eventEntry(type).text,
  result: failures.has(type) ? 'failure' : 'success',
  resource_types: [...aboutOf(type)],
  schema: eventSchema(type),
  sample: renderEvent(sampleEntry(type), { sequence: 1, replay: false, personal: true, test: true }),
});

export function eventRoutes(app: App): void {
  let made: StaticText | undefined;
  app.route({
    method: 'GET',
    url: '',
    config: { access: 'public' },
    schema: {
      summary: 'List the types of events',
      description:
        'With a JSON Schema and a sample of each: what endpoints of webhooks get. It changes only with the release.',
      response: { 200: EventDescriptionsEnvelope, 304: Type.Null() },
    },
    handler: async (request, reply) => {
      made ??= createStaticText(
        'application/json',
        JSON.stringify({ data: eventTypes.map(describe), message: 'The types of events.' }),
      );
      const { etag, text } = made;
      reply.header('cache-control', `public, max-age=${MAX_AGE_SECONDS}`);
      sendUnlessKnown(request, reply, etag, () => text);
    },
  });
}
