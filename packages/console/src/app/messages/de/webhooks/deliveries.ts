// Texte über das, was einem Webhook zugestellt wurde.
import { createPlural } from '../../../../common/language.ts';
import type { LaterMessages } from '../../en/later.ts';

const plural = createPlural('de');

export const deliveries: LaterMessages['webhooks']['deliveries'] = {
  label: 'Zustellungen',
  one: 'Zustellung',
  text: 'Die neuesten zuerst. Angekommene stehen hier 7 Tage lang, aufgegebene 30.',
  filters: 'Filter der Zustellungen',
  anyState: 'Jeder Zustand',
  anyType: 'Jedes Ereignis',
  states: { waiting: 'Wartend', sent: 'Gesendet', dead: 'Aufgegeben' },
  columns: { event: 'Ereignis', answer: 'Antwort', attempts: 'Versuche', queued: 'Eingereiht' },
  number: (id) => `Nr. ${id}`,
  replayed: 'Wiederholung',
  empty: 'Noch nichts gesendet',
  emptyText: 'Hier steht, was der Webhook ab jetzt erfährt, mit dem, was der Endpunkt geantwortet hat.',
  older: 'Ältere anzeigen',
  gone: 'Diese Zustellung ist nicht mehr gespeichert.',
  next: 'Nächster Versuch',
  sentAt: 'Gesendet',
  givenUp: 'Aufgegeben',
  resend: 'Erneut senden',
  resent: 'Die Zustellung wartet auf den Versand.',
  resendHelp:
    'Auch wenn sie angekommen ist. Sie hat dieselbe webhook-id: Ein Empfänger, der sie schon hat, ignoriert sie.',
  attempts: 'Versuche',
  noAttempts: 'Noch keine.',
  arrived: (status) => `Antwort: ${status}`,
  payload: 'Ereignis',
  payloadHelp: 'So würde es der nächste Versuch senden.',
  removed: 'Das Protokoll hat den Eintrag nicht mehr, deshalb gibt es nichts zu senden.',
  replay: {
    run: 'Wiederholen',
    title: (name) => `Ereignisse für ${name} wiederholen`,
    text: 'Ereignisse kommen nach dem, was wartet, als Wiederholung gekennzeichnet und mit derselben webhook-id wie beim ersten Mal. Höchstens 1.000.000 auf einmal.',
    only: 'Was noch einmal gesendet wird',
    dead: (count) => `Nur Aufgegebenes (insgesamt ${count})`,
    all: 'Alles, ob angekommen oder nicht',
    from: 'Von',
    fromDead: 'Zustellungen, die seitdem eingereiht wurden.',
    fromAll: 'Einträge des Protokolls seitdem.',
    to: 'Vor',
    toHelp: 'Ohne Angabe: bis jetzt.',
    events: 'Nur diese Ereignisse',
    everyEvent: 'Alle, von denen der Webhook erfährt',
    count: 'Zählen',
    counted: (count) =>
      plural(count, {
        one: '# Ereignis würde erneut gesendet.',
        other: '# Ereignisse würden erneut gesendet.',
      }),
    start: (count) => plural(count, { one: '# Ereignis erneut senden', other: '# Ereignisse erneut senden' }),
    queued: (count) =>
      plural(count, {
        one: '# Ereignis ist wieder eingereiht.',
        other: '# Ereignisse sind wieder eingereiht.',
      }),
    none: 'In dieser Zeit wurde nichts gefunden.',
  },
};
