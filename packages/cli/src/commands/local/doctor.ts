import type { Declaration } from '../../command.ts';

export const declaration: Declaration = {
  options: [
    { flags: '--send-to <email>', help: 'Also send a test mail to this email.' },
    { flags: '--json', help: 'Print the findings as JSON.' },
  ],
  details: [
    'Looks at settings, disk, console, database, keys, passkeys, mail server and PUBLIC_URL. Run it as the user of the',
    'service, with its settings, while the service runs or is stopped. It changes nothing. If an embedded database is',
    'stopped, it runs for as long as the checks take. The exit code is 1 if something is bad.',
  ],
  run: async (call) => (await import('../../doctor/doctor.ts')).doctor(call),
};
