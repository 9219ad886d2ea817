// `castellan feed tail`: what changes about sessions, tokens, accounts and access, as it changes.
// It must not keep answers: it only shows what services with live guards are told.
import { apiOptions, overApi } from '../../../api/connection.ts';
import { type CommandGroup, optionOf, UsageError } from '../../../command.ts';

/** One request waits so long for a change: less than a client waits for an answer. */
const WAIT_SECONDS = 5;

function readCount(text: string | undefined): number {
  if (text === undefined) return Number.POSITIVE_INFINITY;
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new UsageError('--count must be a number, at least 1.');
}

export const declaration: CommandGroup = {
  commands: {
    tail: {
      summary: 'Print what changes about sessions, tokens, accounts and access, one JSON object a line.',
      options: [
        { flags: '--after <cursor>', help: 'Go on after a cursor of the feed. Without it, from now.' },
        { flags: '--count <number>', help: 'End after so many changes. Without it, Ctrl-C ends it.' },
        ...apiOptions,
      ],
      details: [
        'Needs the API key of a service account with access.watch. {"reset":true} says that changes were lost: the cursor is unknown.',
      ],
      run: overApi(async ({ call, client }) => {
        let left = readCount(optionOf(call, 'count'));
        let after = optionOf(call, 'after');
        while (left > 0) {
          const page = await client.get('/api/v1/access/feed', {
            query: after === undefined ? {} : { after, wait: WAIT_SECONDS },
          });
          if (after !== undefined && !page.resumed) call.print('{"reset":true}');
          for (const change of page.changes.slice(0, left)) call.print(JSON.stringify(change));
          left -= page.changes.length;
          after = page.cursor;
        }
      }),
    },
  },
};
