// Texte von dem, was Menschen Anwendungen gegeben haben: bei der Anwendung, bei einem Benutzer und im eigenen Konto.
import { createPlural } from '../../../../common/language.ts';
import { scopeTexts } from '../../../../common/messages/de/scopes.ts';
import type { LaterMessages } from '../../en/later.ts';

const plural = createPlural('de');

export const applicationAccess: LaterMessages['applicationAccess'] = {
  offline: 'Überdauert die Abmeldung',
  since: (day) => `Seit ${day}`,
  used: (when) => `zuletzt benutzt ${when}`,
  unused: 'noch nicht benutzt',
  until: (day) => `endet spätestens am ${day}`,
  people: {
    text: 'Wer sich bei der Anwendung angemeldet hat und noch Zugriff hat: ein Eintrag je Anmeldung.',
    person: 'Mensch',
    everybody: 'Alle',
    label: 'Menschen mit Zugriff',
    empty: 'Zurzeit hat niemand Zugriff',
    emptyText: 'Menschen stehen hier, sobald sie sich bei der Anwendung angemeldet haben.',
    more: 'Mehr anzeigen',
    end: 'Zugriff beenden',
    endAll: 'Alle Zugriffe beenden',
    askOne: (name) => `Diesen Zugriff von ${name} beenden?`,
    oneText:
      'Was die Anwendung bei dieser Anmeldung bekam, wird sofort abgelehnt. Eine API, die Tokens selbst prüft, nimmt sie an, bis sie ablaufen. Die Anmeldung ist wieder möglich.',
    askAll: (application) => `Alle Zugriffe auf ${application} beenden?`,
    allText:
      'Was die Anwendung von irgendwem bekam, wird sofort abgelehnt. Eine API, die Tokens selbst prüft, nimmt sie an, bis sie ablaufen. Anmeldungen sind wieder möglich.',
    ends: (count) => plural(count, { one: 'Das beendet # Anmeldung.', other: 'Das beendet # Anmeldungen.' }),
    ended: (count) =>
      plural(count, {
        one: 'Der Zugriff von # Anmeldung ist beendet.',
        other: 'Der Zugriff von # Anmeldungen ist beendet.',
      }),
  },
  user: {
    text: 'Wo sich dieser Mensch angemeldet hat und eine Anwendung noch Zugriff hat.',
    none: 'Zurzeit hat keine Anwendung Zugriff auf dieses Konto.',
    signIns: (count) => plural(count, { one: '# Anmeldung', other: '# Anmeldungen' }),
    ask: (application, name) => `Zugriff von ${application} auf das Konto von ${name} beenden?`,
    askText:
      'Was die Anwendung von diesem Menschen bekam, wird sofort abgelehnt. Eine API, die Tokens selbst prüft, nimmt sie an, bis sie ablaufen. Die Anmeldung ist wieder möglich.',
    ended: (application) => `${application} hat keinen Zugriff mehr.`,
  },
  own: {
    title: 'Anwendungen, die ich benutze',
    text: 'Wo Sie sich mit diesem Konto angemeldet haben, und was Sie dort erlauben. Nehmen Sie zurück, was Sie nicht benutzen.',
    empty: 'Sie haben sich mit diesem Konto bei keiner Anwendung angemeldet.',
    label: 'Anwendungen',
    none: 'Zurzeit kein Zugriff',
    scopeTexts,
    permissions: 'In Ihrem Namen:',
    agreed: (day) => `Sie haben am ${day} zugestimmt`,
    policy: 'Datenschutzerklärung',
    terms: 'Nutzungsbedingungen',
    end: 'Zurücknehmen',
    endOf: (application) => `Zugriff von ${application} zurücknehmen`,
    ask: (application) => `Zugriff von ${application} zurücknehmen?`,
    askText:
      'Ihr wird sofort alles verweigert, für alle Ihre Browser, und Ihre Zustimmung wird vergessen. Sie können sich dort wieder anmelden.',
    ended: (application) => `${application} hat keinen Zugriff mehr.`,
  },
};
