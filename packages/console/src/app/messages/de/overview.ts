// Texte der Seite „Übersicht“.
import { createPlural } from '../../../common/language.ts';
import type { Messages } from '../en/index.ts';

const plural = createPlural('de');
const choose = (one: string, other: string) => (count: number) => plural(count, { one, other });

export const overview: Messages['overview'] = {
  title: 'Übersicht',
  own: {
    title: 'Ihr Konto',
    text: 'Sehen Sie Ihr Profil, Ihre Sitzungen und was Sie dürfen und warum.',
  },
  counters: {
    label: 'Zahlen',
    users: 'Benutzer',
    active: 'Aktive Benutzer',
    roles: 'Rollen',
    permissions: 'Berechtigungen',
    sessions: 'Laufende Sitzungen',
  },
  attention: {
    title: 'Braucht Aufmerksamkeit',
    none: 'Nichts braucht Aufmerksamkeit.',
    items: {
      locked_users: choose('gesperrtes Konto', 'gesperrte Konten'),
      unverified_users_near_removal: choose(
        'unbestätigtes Konto, wird binnen eines Tages entfernt',
        'unbestätigte Konten, werden binnen eines Tages entfernt',
      ),
      invitations_ended: choose(
        'Einladung, die unbeantwortet abgelaufen ist',
        'Einladungen, die unbeantwortet abgelaufen sind',
      ),
      users_without_roles: choose('Benutzer ohne Rolle', 'Benutzer ohne Rolle'),
      users_without_required_factor: choose(
        'Benutzer ohne verlangten zweiten Faktor',
        'Benutzer ohne verlangten zweiten Faktor',
      ),
      permissions_without_roles: choose(
        'Berechtigung Ihres Produkts, die nur Admin hat',
        'Berechtigungen Ihres Produkts, die nur Admin hat',
      ),
      roles_without_holders: choose('Rolle, die niemand hat', 'Rollen, die niemand hat'),
      roles_without_permissions: choose('Rolle ohne Berechtigungen', 'Rollen ohne Berechtigungen'),
    },
  },
  trend: {
    title: 'Anmeldungen der letzten 30 Tage',
    signInsLabel: 'Anmeldungen',
    refusalsLabel: 'Abgelehnt',
    todayLabel: 'Heute bisher',
    dayLabel: 'Tag (UTC)',
    soFar: (day) => `${day}, bisher`,
    signIns: choose('# Anmeldung', '# Anmeldungen'),
    refusals: choose('# abgelehnt', '# abgelehnt'),
    day: (day, signIns, refusals) => `${day}: ${signIns}, ${refusals}`,
    chooseDay: 'Tag',
    table: 'Als Tabelle',
    openRefusals: 'Ablehnungen im Protokoll',
  },
  recent: {
    title: 'Letzte Anmeldungen',
    none: 'Noch hat sich niemand angemeldet.',
  },
  networks: {
    title: 'Sitzungen nach Netz',
    sessions: choose('# Sitzung', '# Sitzungen'),
    none: 'Keine laufende Sitzung hat eine Adresse.',
    newest: (shown, total) => plural(total, { other: `Von den neuesten ${shown} von # Sitzungen` }),
  },
  groups: {
    title: 'Rollengruppen',
    open: 'Alle Rollengruppen',
    none: 'Noch keine Rollengruppen.',
    roles: choose('# Rolle', '# Rollen'),
    below: choose('# Gruppe darunter', '# Gruppen darunter'),
  },
  checklist: {
    title: 'Erste Schritte',
    progress: (done, steps) => `${done} von ${steps} erledigt`,
    dismiss: 'Erste Schritte ausblenden',
    done: '(erledigt)',
    open: '(offen)',
    steps: {
      password: { title: 'Erstes Passwort ändern', text: 'Das von der Installation ist vielleicht bekannt.' },
      permissions: {
        title: 'Berechtigungen anlegen',
        text: 'Benennen Sie, was Menschen in Ihrem Produkt tun.',
      },
      role: { title: 'Rolle anlegen', text: 'Bündeln Sie Berechtigungen für eine Aufgabe.' },
      people: {
        title: 'Jemanden einladen',
        text: 'Eine zweite Administration verhindert, dass sich alle aussperren.',
      },
    },
  },
};
