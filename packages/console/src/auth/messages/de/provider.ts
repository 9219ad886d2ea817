// German texts of signing in with a provider.
import type { ProviderTexts } from '../en/provider.ts';

export const via: ProviderTexts = {
  signIn: (provider) => `Weiter mit ${provider}`,
  or: 'Oder anders anmelden',
  away: (provider) =>
    `${provider} ist gerade nicht erreichbar. Versuchen Sie es gleich noch einmal, oder melden Sie sich anders an.`,
  back: 'Zurück zur Anmeldung',
  cancel: 'Abbrechen',
  connect: {
    title: (provider) => `${provider} mit Ihrem Konto verknüpfen`,
    exists:
      'Zu dieser Adresse gibt es ein Konto. Melden Sie sich wie gewohnt daran an und bestätigen Sie dann.',
    from: (provider) => `Für ${provider} sind Sie`,
    signIn: 'Anmelden',
    account: 'Sie sind angemeldet als',
    confirm: (provider) => `Danach meldet ${provider} Sie an diesem Konto an.`,
    submit: 'Verknüpfen',
    other: 'Anderes Konto verwenden',
    again:
      'Ihre Anmeldung liegt dafür zu lange zurück. Melden Sie sich noch einmal an und bestätigen Sie dann.',
    signInAgain: 'Noch einmal anmelden',
    taken: (provider) => `Dieses Konto bei ${provider} ist hier mit einem anderen Konto verknüpft.`,
  },
  email: {
    title: 'E-Mail-Adresse bestätigen',
    text: (provider) =>
      `Wir wissen noch nicht, ob diese Adresse Ihnen gehört: ${provider} sagt es nicht. Wir schicken einen Code an sie.`,
    submit: 'Code schicken',
    sent: 'Wenn diese Adresse hier verwendet werden kann, ist eine E-Mail mit einem Code unterwegs. Er gilt 15 Minuten.',
    code: 'Code aus der E-Mail',
    malformed: 'Der Code hat acht Ziffern. Prüfen Sie ihn und versuchen Sie es erneut.',
    confirm: 'Bestätigen',
    resend: 'Neuen Code schicken',
    resendIn: (wait) => `Neuen Code schicken ${wait}`,
    other: 'Andere Adresse verwenden',
  },
  signUp: {
    title: 'Sie haben hier noch kein Konto',
    text: (provider) => `${provider} kennt Sie, darf hier aber kein Konto für Sie anlegen.`,
    ask: 'Bitten Sie Ihre Administration um ein Konto. Melden Sie sich dann noch einmal an.',
    address: 'Ihre Adresse bei diesem Anmeldedienst',
  },
  gone: {
    title: 'Diese Anmeldung ist abgelaufen',
    text: 'Sie wurde beendet, hat zu lange gedauert oder in einem anderen Browser begonnen.',
  },
  failed: {
    title: 'Sie sind nicht angemeldet',
    connecting: 'Es wurde nichts verknüpft',
    kinds: {
      denied: 'Die Anmeldung wurde beim Anmeldedienst abgebrochen.',
      expired:
        'Die Anmeldung hat zu lange gedauert, wurde schon beendet oder hat in einem anderen Browser begonnen.',
      unavailable:
        'Der Anmeldedienst antwortet nicht. Versuchen Sie es gleich noch einmal, oder melden Sie sich anders an.',
      unacceptable:
        'Die Antwort des Anmeldedienstes kann nicht angenommen werden. Wenn es wieder passiert, sagen Sie es Ihrer Administration.',
      not_allowed:
        'Damit können Sie sich nicht anmelden. Wenn Sie es können sollten, fragen Sie Ihre Administration.',
      invitation: 'Ihre Einladung ist nicht mehr gültig. Bitten Sie Ihre Administration um eine neue.',
      limited: 'Zu viele Versuche von hier. Versuchen Sie es später noch einmal.',
      taken: 'Dieses Konto beim Anmeldedienst ist hier mit einem anderen Konto verknüpft.',
      session: 'Sie wurden inzwischen abgemeldet. Melden Sie sich an und verknüpfen Sie es dann noch einmal.',
      other: 'Etwas Unerwartetes ist passiert. Wenn es wieder passiert, sagen Sie es Ihrer Administration.',
    },
    provider: 'Anmeldedienst',
    request: 'Anfrage',
    again: 'Noch einmal beginnen',
    account: 'Zurück zu Ihrem Konto',
  },
};
