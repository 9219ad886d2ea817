// German texts about personal access tokens.
import { createPlural } from '../../../common/language.ts';
import type { LaterMessages } from '../en/later.ts';

const plural = createPlural('de');

export const personalTokens: LaterMessages['personalTokens'] = {
  title: 'Persönliche Zugriffstoken',
  text: 'Programme, die eines haben, handeln in Ihrem Namen, höchstens mit dem, was Sie dürfen.',
  empty: 'Kein Programm handelt in Ihrem Namen.',
  create: 'Neues Token',
  nameHelp: 'Wofür das Token verwendet wird, etwa „deployment“.',
  expires: 'Läuft ab',
  expiresHelp:
    'Ab diesem Zeitpunkt gilt das Token nicht mehr. Höchstens ein Jahr, sofern Ihre Organisation nichts anderes erlaubt.',
  narrowing: {
    narrow: 'Berechtigungen',
    narrowAll: 'Alle, die Sie jetzt haben',
    narrowSome: 'Nur diese',
    narrowNone: 'Sie haben keine Berechtigung, die Sie weitergeben könnten.',
  },
  narrowed: (count) => plural(count, { one: 'nur # Berechtigung', other: 'nur # Berechtigungen' }),
  all: 'alles, was die Person darf',
  itemOf: (name) => `Token ${name}`,
  expired: 'Abgelaufen',
  end: 'Beenden',
  endOf: (name) => `${name} beenden`,
  ask: (name) => `Das Token ${name} beenden?`,
  askText: 'Programme, die es haben, werden ab jetzt abgelehnt. Das lässt sich nicht rückgängig machen.',
  ended: (name) => `Das Token ${name} ist beendet.`,
  secret: {
    title: 'Ihr neues Token',
    text: 'Das Token wird nur jetzt angezeigt. Speichern Sie es so, dass nur das Programm es lesen kann.',
    lost: 'Das Token wurde erstellt, aber die Antwort ging verloren. Beenden Sie es und erstellen Sie ein anderes.',
  },
  ofUser: {
    text: 'Programme, die eines haben, handeln im Namen dieser Person.',
    empty: 'Kein Programm handelt im Namen dieser Person.',
  },
};
