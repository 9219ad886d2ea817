// German texts about identities.
import type { LaterMessages } from '../../en/later.ts';

export const identities: LaterMessages['identities'] = {
  at: (subject) => `Dort bekannt als ${subject}`,
  connected: 'Verknüpft',
  lastUsed: 'Letzte Anmeldung',
  own: {
    title: 'Verknüpfte Anmeldungen',
    text: 'Konten anderswo, mit denen Sie sich anmelden können.',
    empty: 'Sie haben kein Konto anderswo verknüpft.',
    connect: (provider) => `${provider} verknüpfen`,
    disconnect: 'Trennen',
    disconnectOf: (provider) => `${provider} trennen`,
    ask: (provider) => `${provider} trennen?`,
    askText:
      'Sie können sich nicht mehr damit anmelden, und Sitzungen, die damit begonnen haben, enden, vielleicht auch diese.',
    last: 'Das ist Ihr einziger Weg, sich anzumelden. Setzen Sie zuerst ein Passwort, legen Sie einen Passkey an oder verknüpfen Sie ein anderes Konto.',
    disconnected: (provider) => `${provider} ist getrennt.`,
  },
  user: {
    text: 'Konten anderswo, mit denen sich die Person anmelden kann. Nur sie selbst kann eines verknüpfen.',
    none: 'Die Person hat kein Konto anderswo verknüpft.',
    ask: (provider, name) => `${provider} von ${name} trennen?`,
    askText: 'Die Person kann sich nicht mehr damit anmelden. Sitzungen, die damit begonnen haben, enden.',
  },
  noPassword: {
    text: 'Ihr Konto hat kein Passwort: Sie melden sich mit einem Konto anderswo an.',
    want: 'Wenn Sie auch eines wollen, setzen Sie es über den Link in einer E-Mail. Dann endet jede Sitzung Ihres Kontos.',
    send: 'E-Mail schicken',
    sent: 'Eine E-Mail mit dem Link ist unterwegs.',
  },
  signInAgain: {
    text: 'Ihr Konto hat kein Passwort und keinen zweiten Faktor. Melden Sie sich noch einmal an, um zu bestätigen, dass Sie es sind.',
    button: 'Noch einmal anmelden',
  },
};
