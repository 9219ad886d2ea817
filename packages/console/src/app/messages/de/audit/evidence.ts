// German texts of the evidence in the audit log.
import { createPlural } from '../../../../common/language.ts';
import type { LaterMessages } from '../../en/later.ts';

const plural = createPlural('de');

export const evidence: LaterMessages['evidence'] = {
  title: 'Nachweis',
  proof: 'Beweis',
  waits: 'Neue Einträge werden innerhalb von etwa zehn Sekunden versiegelt.',
  inserted:
    'Die Siegel sind über die Stelle dieses Eintrags ohne ihn hinweggegangen: Er wurde später in die Datenbank geschrieben.',
  inSeal: (number) => `Der Eintrag ist in Siegel ${number}.`,
  notInSeal: (number) => `Der Eintrag oder ein anderer in Siegel ${number} ist nicht, was versiegelt wurde.`,
  inHead: (seals) => `Das Siegel ist im signierten Kopf über ${seals} Siegel.`,
  notInHead: 'Das Siegel ist nicht im signierten Kopf.',
  personal: {
    same: 'Die personenbezogenen Daten sind, was versiegelt wurde.',
    other: 'Die personenbezogenen Daten sind nicht, was versiegelt wurde.',
    erased: 'Die personenbezogenen Daten wurden gelöscht. Ihr Hash steht noch im Siegel.',
  },
  good: 'bestanden',
  bad: 'nicht bestanden',
  checked:
    'Dieser Browser hat den Eintrag neu gehasht. Die Signatur kann er nicht beurteilen: Das tut der Befehl „castellan audit verify“, auch mit Köpfen, die Sie aufbewahrt haben.',
  cannotHash:
    'Dieser Browser prüft Beweise nur auf Seiten über HTTPS. Laden Sie den Beweis stattdessen herunter.',
  download: 'Beweis herunterladen',
  head: {
    title: 'Siegel des Protokolls',
    text: 'Bewahren Sie den signierten Kopf dort auf, wo ihn die Betreiber dieses Dienstes nicht ändern können. Was später in dem geändert, gelöscht oder eingefügt wird, was er abdeckt, lässt sich erkennen.',
    none: 'Noch ist nichts versiegelt.',
    note: 'Signierter Kopf',
    origin: 'Ursprung',
    seals: 'Siegel',
    root: 'Wurzel',
    at: 'Letztes Siegel',
    download: 'Herunterladen',
  },
  off: 'AUDIT_SEALING ist aus: Nichts wird versiegelt. Spätere Änderungen neuer Einträge fallen nicht auf.',
  forks: {
    title: 'Neue Protokolle',
    none: 'Das Protokoll ging nie in einem neuen weiter.',
    recent: (at) =>
      `Am ${at} ging das Protokoll in einem neuen weiter, weil die Datenbank nicht hatte, was versiegelt war. Wenn niemand sie wiederhergestellt hat, finden Sie heraus, wer sie ersetzt hat.`,
    show: 'Eintrag zeigen',
    showOf: (at) => `Eintrag vom ${at} zeigen`,
    reasons: {
      restored: 'Die Datenbank wurde wiederhergestellt.',
      other_history: 'Die Datenbank hatte eine andere Geschichte, als eine Instanz gesehen hatte.',
      key_lost: 'SECRET_KEY öffnete den Schlüssel nicht, der signiert.',
    },
    lost: (count) => plural(count, { one: '# Siegel ging verloren.', other: '# Siegel gingen verloren.' }),
  },
};
