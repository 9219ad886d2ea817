// Texts about identities: accounts elsewhere that people sign in with. They load with the parts that show them.

export const identities = {
  at: (subject: string) => `Known there as ${subject}`,
  connected: 'Connected',
  lastUsed: 'Last sign-in',
  own: {
    title: 'Connected sign-ins',
    text: 'Accounts elsewhere that you can sign in with.',
    empty: 'You have connected no account elsewhere.',
    connect: (provider: string) => `Connect ${provider}`,
    disconnect: 'Disconnect',
    disconnectOf: (provider: string) => `Disconnect ${provider}`,
    ask: (provider: string) => `Disconnect ${provider}?`,
    askText: 'You can no longer sign in with it, and its sessions end, also this one if it began with it.',
    last: 'This is your only way to sign in. Set a password, add a passkey or connect another account first.',
    disconnected: (provider: string) => `${provider} is disconnected.`,
  },
  user: {
    text: 'Accounts elsewhere that the person can sign in with. Only they can connect one.',
    none: 'The person has connected no account elsewhere.',
    ask: (provider: string, name: string) => `Disconnect ${provider} from ${name}?`,
    askText: 'They can no longer sign in with it. Sessions that began with it end.',
  },
  noPassword: {
    text: 'Your account has no password: you sign in with an account elsewhere.',
    want: 'To have one, too, set it with the link in a mail. Every session of your account ends then.',
    send: 'Send the mail',
    sent: 'A mail with the link is on its way.',
  },
  signInAgain: {
    text: 'Your account has no password and no second factor. To confirm that it is you, sign in again.',
    button: 'Sign in again',
  },
};
