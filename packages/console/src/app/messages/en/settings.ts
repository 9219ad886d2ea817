// Texts of the page Settings. The descriptions of the settings come from the service, in English.
import { createPlural } from '../../../common/language.ts';

const plural = createPlural('en');

export const settings = {
  title: 'Settings',
  text: 'What this instance has read at its start. To change a setting, set its environment variable and start the service again.',
  filter: 'Filter settings',
  onlyChanged: 'Only those that are set',
  count: (count: number) => plural(count, { one: '# setting', other: '# settings' }),
  groups: {
    address: 'Address',
    database: 'Database and secrets',
    pages: 'Mails and pages',
    accounts: 'Accounts and passwords',
    factors: 'Second factors',
    devices: 'Devices',
    sessions: 'Sessions and tokens',
    feed: 'Change feed',
    limits: 'Rate limits',
    browsers: 'Browsers',
    audit: 'Audit log',
    monitoring: 'Logs, metrics and traces',
    other: 'Further settings',
  },
  source: { environment: 'set', file: 'from a file', default: 'default', generated: 'generated' },
  secret: 'secret, not shown',
  empty: 'empty',
  defaultIs: 'Default:',
  copy: (name: string) => `Copy ${name}`,
  copied: 'Copied',
  about: {
    title: 'About this service',
    version: 'Version',
    address: 'Address',
    health: 'Health',
    ready: 'Ready',
    notReady: 'Not ready',
    checking: 'Checking…',
    documents: 'Documents',
    openapi: 'OpenAPI',
    errors: 'Error codes',
  },
};
