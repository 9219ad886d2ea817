// Texte der Seite „Einstellungen“. Die Beschreibungen der Einstellungen kommen vom Dienst, auf Englisch.
import { createPlural } from '../../../common/language.ts';
import type { Messages } from '../en/index.ts';

const plural = createPlural('de');

export const settings: Messages['settings'] = {
  title: 'Einstellungen',
  text: 'Was diese Instanz beim Start gelesen hat. Um eine Einstellung zu ändern, setzen Sie ihre Umgebungsvariable und starten den Dienst neu.',
  filter: 'Einstellungen filtern',
  onlyChanged: 'Nur gesetzte',
  count: (count) => plural(count, { one: '# Einstellung', other: '# Einstellungen' }),
  groups: {
    address: 'Adresse',
    database: 'Datenbank und Geheimnisse',
    pages: 'E-Mails und Seiten',
    accounts: 'Konten und Passwörter',
    factors: 'Zweite Faktoren',
    devices: 'Geräte',
    sessions: 'Sitzungen und Token',
    feed: 'Strom der Änderungen',
    limits: 'Ratenbegrenzungen',
    browsers: 'Browser',
    audit: 'Protokoll',
    monitoring: 'Log, Metriken und Traces',
    other: 'Weitere Einstellungen',
  },
  source: { environment: 'gesetzt', file: 'aus einer Datei', default: 'Standard', generated: 'erzeugt' },
  secret: 'geheim, nicht angezeigt',
  empty: 'leer',
  defaultIs: 'Standard:',
  copy: (name) => `${name} kopieren`,
  copied: 'Kopiert',
  about: {
    title: 'Über diesen Dienst',
    version: 'Version',
    address: 'Adresse',
    health: 'Zustand',
    ready: 'Bereit',
    notReady: 'Nicht bereit',
    checking: 'Wird geprüft…',
    documents: 'Dokumente',
    openapi: 'OpenAPI',
    errors: 'Fehlercodes',
  },
};
