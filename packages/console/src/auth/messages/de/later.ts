// German texts of passkeys and of the second step.
import type { LaterTexts } from '../en/later.ts';

export const later: LaterTexts = {
  passkey: {
    signIn: 'Mit einem Passkey anmelden',
    failed: 'Es ist nichts passiert. Versuchen Sie es erneut, oder verwenden Sie Ihr Passwort.',
    unknown: 'Dieser Passkey funktioniert hier nicht mehr. Verwenden Sie Ihr Passwort.',
    waiting: 'Folgen Sie Ihrem Browser…',
    cancel: 'Abbrechen',
  },
  secondStep: {
    methods: {
      passkey: 'Passkey oder Sicherheitsschlüssel',
      totp: 'Authenticator-App',
      recovery_code: 'Wiederherstellungscode',
      recovery_link: 'Link per E-Mail',
    },
    otherWays: 'Andere Möglichkeiten',
    totp: 'Geben Sie die sechs Ziffern ein, die Ihre Authenticator-App anzeigt.',
    code: 'Code',
    malformed: 'Der Code hat sechs Ziffern. Prüfen Sie ihn und versuchen Sie es erneut.',
    recoveryCode:
      'Geben Sie einen der Wiederherstellungscodes ein, die Sie aufbewahrt haben. Jeder funktioniert einmal.',
    passkey: 'Verwenden Sie den Passkey oder Sicherheitsschlüssel, den Sie Ihrem Konto hinzugefügt haben.',
    usePasskey: 'Passkey verwenden',
    noPasskey:
      'Dieser Browser kann hier keine Passkeys verwenden. Wählen Sie eine andere Möglichkeit oder einen anderen Browser.',
    noMethod:
      'Keiner Ihrer zweiten Faktoren funktioniert hier. Bitten Sie Ihre Administration, sie zurückzusetzen.',
    submit: 'Bestätigen',
    trust: (days) =>
      days === null
        ? 'Diesem Gerät vertrauen'
        : `Diesem Gerät ${days} ${days === 1 ? 'Tag' : 'Tage'} lang vertrauen`,
    left: (count) =>
      count === 1
        ? 'Dieser Code ist falsch. Noch 1 Versuch ist möglich.'
        : `Dieser Code ist falsch. Noch ${count} Versuche sind möglich.`,
    noneLeft: 'Zu viele falsche Codes. Beginnen Sie die Anmeldung noch einmal.',
    locked: (wait) =>
      `Zu viele falsche Codes. Versuchen Sie es ${wait} erneut, oder wählen Sie eine andere Möglichkeit.`,
    failed: 'Es ist nichts passiert. Versuchen Sie es erneut, oder wählen Sie eine andere Möglichkeit.',
    unknownPasskey: 'Dieser Passkey funktioniert hier nicht mehr. Wählen Sie eine andere Möglichkeit.',
    expired: 'Diese Anmeldung ist abgelaufen. Beginnen Sie noch einmal.',
    link: 'Ihr zweiter Faktor wurde zurückgesetzt. Um sich ohne ihn anzumelden, öffnen Sie den Link, den Ihre Administration Ihnen gegeben hat oder den wir an die Adresse oben gesendet haben. Melden Sie sich danach noch einmal an.',
    sendLink: 'Link erneut senden',
    sendLinkIn: (wait) => `Link erneut senden ${wait}`,
    linkSent: 'Falls diese Anmeldung einen Link braucht, ist eine E-Mail unterwegs.',
    linkReady: 'Sie haben den Link geöffnet. Melden Sie sich mit ihm an.',
    useLink: 'Mit dem Link anmelden',
    linkDead: 'Der Link ist abgelaufen, wurde schon verwendet oder durch einen neueren ersetzt.',
    back: 'Die Anmeldung neu beginnen',
  },
};
