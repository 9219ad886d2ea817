// Texts about what was delivered to a webhook.
import { createPlural } from '../../../../common/language.ts';

const plural = createPlural('en');

export const deliveries = {
  label: 'Deliveries',
  one: 'Delivery',
  text: 'Newest first. What arrived is listed for 7 days, what was given up for 30.',
  filters: 'Filters of the deliveries',
  anyState: 'Any state',
  anyType: 'Any event',
  states: { waiting: 'Waiting', sent: 'Sent', dead: 'Given up' },
  columns: { event: 'Event', answer: 'Answer', attempts: 'Attempts', queued: 'Queued' },
  /** The number of a delivery. */
  number: (id: string) => `no. ${id}`,
  replayed: 'replay',
  empty: 'Nothing was sent yet',
  emptyText: 'What the webhook is told of from now on stands here, with what the endpoint answered.',
  older: 'Show older',
  gone: 'This delivery is no longer kept.',
  next: 'Next attempt',
  sentAt: 'Sent',
  givenUp: 'Given up',
  resend: 'Resend',
  resent: 'The delivery waits to be sent.',
  resendHelp: 'Also if it arrived. It has the same webhook-id, so a receiver that has it ignores it.',
  attempts: 'Attempts',
  noAttempts: 'None yet.',
  arrived: (status: number) => `It answered ${status}`,
  payload: 'Event',
  payloadHelp: 'As the next attempt would send it.',
  removed: 'The audit log no longer has the entry, so there is nothing to send.',
  replay: {
    run: 'Replay',
    title: (name: string) => `Replay to ${name}`,
    text: 'Events come behind what waits, marked as a replay, with the same webhook-id as at the first time. At most 1,000,000 at once.',
    only: 'What to send again',
    dead: (count: string) => `Only what was given up (${count} in all)`,
    all: 'Everything, whether or not it arrived',
    from: 'From',
    fromDead: 'Deliveries queued from then on.',
    fromAll: 'Entries of the audit log from then on.',
    to: 'Before',
    toHelp: 'Without a time, until now.',
    events: 'Only these events',
    everyEvent: 'All that the webhook is told of',
    count: 'Count',
    counted: (count: number) =>
      plural(count, { one: '# event would be sent again.', other: '# events would be sent again.' }),
    start: (count: number) => plural(count, { one: 'Send # event again', other: 'Send # events again' }),
    queued: (count: number) =>
      plural(count, { one: '# event is queued again.', other: '# events are queued again.' }),
    none: 'Nothing was found in this time.',
  },
};
