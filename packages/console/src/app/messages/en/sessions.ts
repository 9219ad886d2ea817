// Texts of the page Sessions and of lists of sessions.

export const sessions = {
  title: 'Sessions',
  browserOn: (browser: string, system: string) => `${browser} on ${system}`,
  unknownDevice: 'Unknown device',
  unknownNetwork: 'Unknown network',
  current: 'This session',
  lastUsed: 'Last seen',
  started: 'Started',
  end: 'End',
  endOf: (name: string) => `End the session: ${name}`,
};
