// English texts about acting as somebody else.

export const acting = {
  ask: (name: string) => `Act as ${name}`,
  text: (name: string) =>
    `You see what ${name} sees, and do what they may do. Passwords, second factors and everything else that only they can change stay theirs.`,
  told: 'They see it in their list of sessions, and get a mail unless your organisation has turned that off. Every entry of the audit log names you, too.',
  reason: 'Reason',
  reasonHelp: 'At least 5 characters. The audit log has it.',
  minutes: 'For how many minutes',
  minutesHelp: '1 to 60. Nothing makes it longer.',
  begin: 'Begin',
  bar: {
    label: 'Acting as somebody else',
    as: 'You act as',
    until: (time: string) => `until ${time}.`,
    stop: 'Stop',
  },
  over: {
    title: (name: string) => `You no longer act as ${name}`,
    time: 'The time is up. What you had not saved is lost.',
    ended: 'The session was ended, or what you or they may do has changed. What you had not saved is lost.',
    onward: 'Go on as yourself',
  },
  former: (name: string) => `You no longer act as ${name}. This is your own account.`,
  /** In place of the parts of the page My account. */
  account: {
    title: (name: string) => `The account of ${name}`,
    access: 'What they may do',
    text: 'You act as somebody else. Names, email address, password, second factors, sessions, tokens, connected accounts and data are theirs alone: nobody who acts as them sees or changes them here.',
  },
};
