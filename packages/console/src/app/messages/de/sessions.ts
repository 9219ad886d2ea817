// Texte der Seite Sitzungen und von Listen von Sitzungen.
import type { Messages } from '../en/index.ts';

export const sessions: Messages['sessions'] = {
  title: 'Sitzungen',
  browserOn: (browser, system) => `${browser} unter ${system}`,
  unknownDevice: 'Unbekanntes Gerät',
  unknownNetwork: 'Unbekanntes Netz',
  current: 'Diese Sitzung',
  lastUsed: 'Zuletzt aktiv',
  started: 'Begonnen',
  end: 'Beenden',
  endOf: (name) => `Sitzung beenden: ${name}`,
};
