// Texts of the pages about webhooks. They load with the pages.
import { createPlural } from '../../../../common/language.ts';
import { deliveries } from './deliveries.ts';

const plural = createPlural('en');

export const webhooks = {
  deliveries,
  create: 'New webhook',
  count: (count: number) => plural(count, { one: '# webhook', other: '# webhooks' }),
  empty: 'No webhooks yet',
  emptyText:
    'A webhook tells your program by an HTTP request what happens here, such as a new user or a role that changed, within about a second.',
  missing: 'No such webhook',
  missingText: 'It was deleted, or the address is wrong.',
  /** A number that stands for itself or more. */
  orMore: (count: string) => `${count}+`,
  columns: {
    status: 'State',
    waiting: 'Waiting',
    oldest: 'Oldest waiting',
    dead: 'Given up',
    success: 'Last success',
  },
  statuses: { active: 'Active', failing: 'Failing', paused: 'Paused' },
  pausedReasons: {
    requested: 'by somebody',
    failing: 'it failed for 24 hours',
    gone: 'it answered 410',
  },
  pausedHelp: {
    requested: 'Nothing is sent. New events wait for up to 7 days, then they are given up.',
    failing:
      'Every attempt of 24 hours failed, so nothing is sent for now. New events wait for up to 7 days. Once the endpoint works again, test it and resume: one delivery is tried first, the others follow when it arrives.',
    gone: 'The endpoint answered 410, which means that it is gone for good. New events wait for up to 7 days. Change the URL and resume, or delete the webhook.',
  },
  failingHelp:
    'The last attempt failed. Further attempts follow by themselves, ever less often. “Deliveries” says what the endpoint answered.',
  tabs: {
    label: 'Parts of the webhook',
    deliveries: 'Deliveries',
    settings: 'Settings',
    secrets: 'Secrets',
    activity: 'Activity',
  },
  groups: { endpoint: 'Endpoint', told: 'What it is told of', personal: 'Personal data' },
  fields: {
    name: 'Name',
    url: 'URL',
    events: 'Events',
    resource_types: 'Only about these records',
    results: 'Results',
    personal: 'Send personal data',
  },
  nameHelp: 'For people, such as the program that is told.',
  urlHelp:
    'Events are sent there by POST. It begins with https; http is for this machine and private networks.',
  typesHelp: 'Without a choice, about records of every type.',
  everyType: 'Records of every type',
  clearTypes: 'Clear the types of records',
  results: { all: 'Everything', failure: 'Only what was refused or went wrong' },
  told: (count: number) =>
    plural(count, {
      one: 'With these settings, it is told of # type of event.',
      other: 'With these settings, it is told of # types of events.',
    }),
  toldNothing:
    'With these settings, it is told of nothing: none of the events is about these records and has this result.',
  personalHelp:
    'Names, email addresses, network addresses and user agents. Without them, events name people by their ids.',
  personalWarning:
    'Those who run the endpoint learn who does what, and from where. When somebody is erased here, what the endpoint has stored stays there.',
  needsAuditLog: 'A webhook reads the audit log for as long as it exists.',
  tree: {
    label: 'Types of events',
    help: 'A whole group also takes the types that later releases add to it.',
    chosen: 'Chosen events',
    remove: (pattern: string) => `Remove ${pattern}`,
    search: 'Search events',
    all: 'All events',
    group: (name: string) => `All of ${name}`,
    others: 'Further events',
    countOf: (count: string, all: string) => `${count} of ${all}`,
    sample: 'Sample',
    sampleOf: (type: string) => `Sample of ${type}`,
  },
  sample: {
    title: 'What the endpoint gets',
    type: 'Sample of',
    more: 'Members are only added, so take what you know and ignore the rest.',
    personal: 'These members are personal data:',
    notPersonal: 'Left out, because they are personal data:',
  },
  sealed: 'The audit log was sealed up to a new head',
  secret: {
    title: 'The secret of the webhook',
    text: 'This is the only time that the secret is shown. Store it now: your endpoint verifies with it that events come from here.',
    lost: 'The webhook or secret was created, but its response was lost. Create a new secret to get one that you can read.',
  },
  secrets: {
    label: 'Live secrets',
    text: 'Each of them signs every event, and your endpoint accepts any. At most 3 live at once.',
    create: 'New secret',
    createText:
      'You get a new secret, which signs from now on. The present ones sign besides it until the overlap is over.',
    overlap: 'Overlap',
    overlaps: {
      none: 'None: the present secrets end now, for one that others know',
      hour: '1 hour',
      day: '1 day',
      week: '1 week',
    },
    createdAt: 'Created',
    stays: 'It does not end by itself.',
    endsAt: (moment: string) => `Ends ${moment}`,
  },
  test: {
    run: 'Test',
    title: (name: string) => `Test of ${name}`,
    text: 'Sends one sample, once, marked as a test. Nothing has happened, and it is no delivery. A paused webhook gets it, too.',
    type: 'Event',
    typeHelp: 'Without a choice, the first that the webhook is told of.',
    send: 'Send',
    again: 'Send again',
    good: (status: number) => `It arrived: the endpoint answered ${status}.`,
    ms: (ms: string) => `${ms} ms`,
  },
  /** Why an attempt failed. */
  answered: (status: number) => `The endpoint answered ${status}.`,
  causes: {
    dns: 'The name of the host was not found.',
    refused_address: 'Castellan does not connect to this address.',
    tls: 'The certificate was not accepted, or TLS failed.',
    connect: 'No connection could be made.',
    timeout: 'No answer within 10 seconds.',
    status: 'The answer was no success.',
    interrupted: 'The instance ended during the attempt. The event may have arrived.',
    secret: 'SECRET_KEY does not open the secret.',
    removed: 'The audit log no longer has the entry.',
    internal: 'The event could not be rendered. The log of the service says why.',
  },
  created: (name: string) => `${name} is created.`,
  saved: (name: string) => `${name} is saved.`,
  pause: 'Pause',
  paused: (name: string) => `${name} is paused.`,
  pauseTitle: (name: string) => `Pause ${name}?`,
  pauseText: 'Nothing is sent until it is resumed. New events wait for up to 7 days, then they are given up.',
  resume: 'Resume',
  resumed: (name: string) => `${name} is resumed. One delivery is tried first.`,
  deleted: (name: string) => `${name} is deleted.`,
  deleteTitle: (name: string) => `Delete ${name}?`,
  dropsNothing: 'Nothing waits to be sent now.',
  drops: (count: string) => `Waiting deliveries that will never be sent: ${count}.`,
  deleteText:
    'From then on, the endpoint is told of nothing. Its secrets and the list of its deliveries go, too. This cannot be undone.',
};
