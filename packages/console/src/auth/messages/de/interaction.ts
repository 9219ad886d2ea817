// German texts of the pages between an application's request and its answer.
import { scopeTexts } from '../../../common/messages/de/scopes.ts';
import type { InteractionTexts } from '../en/interaction.ts';

export const asked: InteractionTexts = {
  application: 'Die Anwendung',
  to: (application) => `weiter zu ${application}`,
  account: 'Angemeldet als',
  retry: 'Erneut versuchen',
  otherAccount: 'Ein anderes Konto verwenden',
  finished: {
    title: 'Diese Anmeldung ist erledigt',
    text: 'Beginnen Sie in der Anwendung noch einmal.',
  },
  left: {
    title: 'Weiter geht es in der Anwendung',
    text: 'Sie können diese Seite schließen.',
  },
  choose: {
    title: 'Konto wählen',
    submit: (name) => `Weiter als ${name}`,
  },
  refused: {
    title: (application) => `Sie können ${application} nicht verwenden`,
    permission: 'Ihrem Konto fehlt die Berechtigung, die diese Anwendung verlangt:',
    text: 'Diese Anwendung steht Ihrem Konto nicht offen.',
    help: 'Bitten Sie Ihre Administration um eine Rolle, die sie hat. Melden Sie sich danach in der Anwendung neu an.',
    helpWithout: 'Bitten Sie Ihre Administration um Zugang. Melden Sie sich danach in der Anwendung neu an.',
    back: (application) => `Zurück zu ${application}`,
  },
  consent: {
    title: (application) => `${application} bittet um Zugriff`,
    host: 'Sie werden zurückgeleitet zu',
    native: 'Sie werden zu einem Programm auf diesem Gerät zurückgeleitet.',
    scopes: 'Damit könnte sie:',
    scopeTexts,
    isNew: 'neu',
    permissions: 'In Ihrem Namen könnte sie dies tun:',
    offline: (until) => `Der Zugriff gilt auch, wenn Sie nicht da sind, längstens bis ${until}.`,
    session: (until) => `Der Zugriff gilt, solange Sie angemeldet sind, längstens bis ${until}.`,
    withdraw: 'Sie können ihn jederzeit in Ihrem Konto zurücknehmen.',
    policy: 'Datenschutzerklärung',
    terms: 'Nutzungsbedingungen',
    allow: 'Erlauben',
    deny: 'Ablehnen',
  },
  device: {
    title: 'Gerät verbinden',
    text: 'Geben Sie den Code ein, den Ihr Gerät anzeigt.',
    code: 'Code',
    submit: 'Weiter',
    malformed:
      'Der Code hat acht Buchstaben, zum Beispiel BCDF-GHJK. Prüfen Sie ihn und versuchen Sie es erneut.',
    unknown:
      'Dieser Code ist falsch oder abgelaufen. Prüfen Sie ihn, oder lassen Sie Ihr Gerät einen neuen anzeigen.',
    warning: 'Fahren Sie nur fort, wenn Sie dies eben auf Ihrem eigenen Gerät begonnen haben.',
    warningText: 'Wer Ihnen einen Link oder einen Code geschickt hat, käme sonst in Ihr Konto.',
    allowed: 'Ihr Gerät ist verbunden',
    allowedText: 'Dort geht es von selbst weiter. Sie können diese Seite schließen.',
    denied: 'Sie haben das Gerät abgelehnt',
    deniedText: 'Es hat keinen Zugriff bekommen. Sie können diese Seite schließen.',
    from: 'Netz',
    program: 'Programm',
    unnamed: 'nicht angegeben',
    when: 'Angefragt',
  },
  signOut: {
    title: 'Möchten Sie sich abmelden?',
    text: (application) => `${application} möchte Sie abmelden, hier und in allen Anwendungen.`,
    submit: 'Abmelden',
    stay: 'Angemeldet bleiben',
    done: 'Sie sind abgemeldet',
    doneText: 'Sie können diese Seite schließen.',
  },
  password: {
    title: 'Neues Passwort wählen',
    text: 'Ihr Passwort muss geändert werden, bevor es weitergeht.',
    current: 'Aktuelles Passwort',
    submit: 'Passwort ändern',
  },
  proof: {
    stronger: (application) => `${application} verlangt einen stärkeren Nachweis.`,
    again: (application) => `${application} bittet Sie, es noch einmal zu bestätigen.`,
    enrol:
      'Sie brauchen einen zweiten Faktor. Richten Sie in Ihrem Konto einen ein, und melden Sie sich dann in der Anwendung neu an.',
    account: 'Mein Konto öffnen',
  },
};
