// Texte der Seiten über Webhooks. Sie laden mit den Seiten.
import { createPlural } from '../../../../common/language.ts';
import type { LaterMessages } from '../../en/later.ts';
import { deliveries } from './deliveries.ts';

const plural = createPlural('de');

export const webhooks: LaterMessages['webhooks'] = {
  deliveries,
  create: 'Neuer Webhook',
  count: (count) => plural(count, { one: '# Webhook', other: '# Webhooks' }),
  empty: 'Noch keine Webhooks',
  emptyText:
    'Ein Webhook meldet Ihrem Programm per HTTP-Anfrage, was hier geschieht, etwa einen neuen Benutzer oder eine geänderte Rolle, nach etwa einer Sekunde.',
  missing: 'Diesen Webhook gibt es nicht',
  missingText: 'Er wurde gelöscht, oder die Adresse stimmt nicht.',
  orMore: (count) => `${count}+`,
  columns: {
    status: 'Zustand',
    waiting: 'Wartend',
    oldest: 'Älteste wartende',
    dead: 'Aufgegeben',
    success: 'Letzter Erfolg',
  },
  statuses: { active: 'Aktiv', failing: 'Gestört', paused: 'Angehalten' },
  pausedReasons: {
    requested: 'von Hand',
    failing: '24 Stunden lang gescheitert',
    gone: 'Antwort war 410',
  },
  pausedHelp: {
    requested: 'Es wird nichts gesendet. Neue Ereignisse warten bis zu 7 Tage, dann werden sie aufgegeben.',
    failing:
      'Jeder Versuch der letzten 24 Stunden ist gescheitert, deshalb wird nichts mehr gesendet. Neue Ereignisse warten bis zu 7 Tage. Sobald der Endpunkt wieder läuft, testen Sie ihn und setzen Sie fort: Zuerst wird eine Zustellung versucht, die anderen folgen, wenn sie ankommt.',
    gone: 'Der Endpunkt hat mit 410 geantwortet: Es gibt ihn nicht mehr. Neue Ereignisse warten bis zu 7 Tage. Ändern Sie die URL und setzen Sie fort, oder löschen Sie den Webhook.',
  },
  failingHelp:
    'Der letzte Versuch ist gescheitert. Weitere folgen von selbst, in immer größeren Abständen. „Zustellungen“ zeigt, was der Endpunkt geantwortet hat.',
  tabs: {
    label: 'Teile des Webhooks',
    deliveries: 'Zustellungen',
    settings: 'Einstellungen',
    secrets: 'Geheimnisse',
    activity: 'Aktivität',
  },
  groups: { endpoint: 'Endpunkt', told: 'Was er erfährt', personal: 'Personenbezogene Daten' },
  fields: {
    name: 'Name',
    url: 'URL',
    events: 'Ereignisse',
    resource_types: 'Nur über diese Datensätze',
    results: 'Ergebnisse',
    personal: 'Personenbezogene Daten senden',
  },
  nameHelp: 'Für Menschen, etwa das Programm, das es erfährt.',
  urlHelp:
    'Dorthin gehen die Ereignisse per POST. Sie beginnt mit https; http gilt für diesen Rechner und private Netze.',
  typesHelp: 'Ohne Auswahl: über Datensätze jeder Art.',
  everyType: 'Datensätze jeder Art',
  clearTypes: 'Auswahl der Datensätze leeren',
  results: { all: 'Alles', failure: 'Nur was abgelehnt wurde oder schiefging' },
  told: (count) =>
    plural(count, {
      one: 'Mit diesen Einstellungen erfährt er von # Art von Ereignissen.',
      other: 'Mit diesen Einstellungen erfährt er von # Arten von Ereignissen.',
    }),
  toldNothing:
    'Mit diesen Einstellungen erfährt er nichts: Keines der Ereignisse betrifft diese Datensätze und hat dieses Ergebnis.',
  personalHelp:
    'Namen, E-Mail-Adressen, Netzwerkadressen und User-Agents. Ohne sie nennen Ereignisse Menschen mit ihrer ID.',
  personalWarning:
    'Wer den Endpunkt betreibt, erfährt, wer was von wo aus tut. Wird hier jemand gelöscht, bleibt dort, was der Endpunkt gespeichert hat.',
  needsAuditLog: 'Ein Webhook liest das Protokoll mit, solange es ihn gibt.',
  tree: {
    label: 'Arten von Ereignissen',
    help: 'Eine ganze Gruppe gilt auch für Arten, die spätere Versionen in ihr ergänzen.',
    chosen: 'Gewählte Ereignisse',
    remove: (pattern) => `${pattern} entfernen`,
    search: 'Ereignisse suchen',
    all: 'Alle Ereignisse',
    group: (name) => `Alle aus ${name}`,
    others: 'Weitere Ereignisse',
    countOf: (count, all) => `${count} von ${all}`,
    sample: 'Beispiel',
    sampleOf: (type) => `Beispiel für ${type}`,
  },
  sample: {
    title: 'Was der Endpunkt bekommt',
    type: 'Beispiel für',
    more: 'Felder kommen nur hinzu: Nehmen Sie, was Sie kennen, und ignorieren Sie den Rest.',
    personal: 'Diese Felder sind personenbezogen:',
    notPersonal: 'Weggelassen, weil personenbezogen:',
  },
  sealed: 'Das Protokoll wurde bis zu einem neuen Stand versiegelt',
  secret: {
    title: 'Das Geheimnis des Webhooks',
    text: 'Das Geheimnis wird nur dieses eine Mal angezeigt. Speichern Sie es jetzt: Ihr Endpunkt prüft damit, dass Ereignisse von hier kommen.',
    lost: 'Der Webhook oder das Geheimnis wurde angelegt, aber die Antwort ging verloren. Legen Sie ein neues Geheimnis an, um ein lesbares zu erhalten.',
  },
  secrets: {
    label: 'Gültige Geheimnisse',
    text: 'Jedes signiert jedes Ereignis, und Ihr Endpunkt nimmt jedes an. Höchstens 3 sind zugleich gültig.',
    create: 'Neues Geheimnis',
    createText:
      'Sie erhalten ein neues Geheimnis, das ab jetzt signiert. Die bisherigen signieren daneben weiter, bis die Übergangszeit vorbei ist.',
    overlap: 'Übergangszeit',
    overlaps: {
      none: 'Keine: die bisherigen enden jetzt, falls andere eines kennen',
      hour: '1 Stunde',
      day: '1 Tag',
      week: '1 Woche',
    },
    createdAt: 'Angelegt:',
    stays: 'Es endet nicht von selbst.',
    endsAt: (moment) => `Endet: ${moment}`,
  },
  test: {
    run: 'Testen',
    title: (name) => `Test von ${name}`,
    text: 'Sendet einmal ein Beispiel, das als Test gekennzeichnet ist. Es ist nichts geschehen, und es ist keine Zustellung. Auch ein angehaltener Webhook bekommt es.',
    type: 'Ereignis',
    typeHelp: 'Ohne Auswahl: das erste, von dem der Webhook erfährt.',
    send: 'Senden',
    again: 'Noch einmal senden',
    good: (status) => `Angekommen: Der Endpunkt hat mit ${status} geantwortet.`,
    ms: (ms) => `${ms} ms`,
  },
  answered: (status) => `Der Endpunkt hat mit ${status} geantwortet.`,
  causes: {
    dns: 'Der Name des Servers wurde nicht gefunden.',
    refused_address: 'Castellan verbindet sich nicht mit dieser Adresse.',
    tls: 'Das Zertifikat wurde nicht angenommen, oder TLS ist gescheitert.',
    connect: 'Es kam keine Verbindung zustande.',
    timeout: 'Keine Antwort innerhalb von 10 Sekunden.',
    status: 'Die Antwort war kein Erfolg.',
    interrupted: 'Die Instanz endete während des Versuchs. Das Ereignis kann angekommen sein.',
    secret: 'SECRET_KEY öffnet das Geheimnis nicht.',
    removed: 'Das Protokoll hat den Eintrag nicht mehr.',
    internal: 'Das Ereignis ließ sich nicht aufbereiten. Die Logs des Dienstes sagen, warum.',
  },
  created: (name) => `${name} ist angelegt.`,
  saved: (name) => `${name} ist gespeichert.`,
  pause: 'Anhalten',
  paused: (name) => `${name} ist angehalten.`,
  pauseTitle: (name) => `${name} anhalten?`,
  pauseText:
    'Bis zum Fortsetzen wird nichts gesendet. Neue Ereignisse warten bis zu 7 Tage, dann werden sie aufgegeben.',
  resume: 'Fortsetzen',
  resumed: (name) => `${name} ist fortgesetzt. Zuerst wird eine Zustellung versucht.`,
  deleted: (name) => `${name} ist gelöscht.`,
  deleteTitle: (name) => `${name} löschen?`,
  dropsNothing: 'Gerade wartet nichts auf den Versand.',
  drops: (count) => `Wartende Zustellungen, die nie mehr gesendet werden: ${count}.`,
  deleteText:
    'Der Endpunkt erfährt nichts mehr. Auch seine Geheimnisse und die Liste seiner Zustellungen gehen verloren. Das lässt sich nicht rückgängig machen.',
};
