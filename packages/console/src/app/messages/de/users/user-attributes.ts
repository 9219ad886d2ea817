// Texte der Seite Attribute und der Formulare, die Werte von Attributen zeigen oder erfragen.
import { createPlural } from '../../../../common/language.ts';
import type { LaterMessages } from '../../en/later.ts';

const plural = createPlural('de');

export const userAttributes: LaterMessages['userAttributes'] = {
  search: 'Nach Name oder Bezeichnung suchen',
  create: 'Neues Attribut',
  empty: 'Noch keine Attribute',
  emptyText:
    'Legen Sie fest, was Ihre Produkte außer den Namen über Personen festhalten, etwa eine Kostenstelle. Jeder Benutzer kann dann einen Wert davon haben.',
  fields: {
    name: 'Name',
    label: 'Bezeichnung',
    description: 'Beschreibung',
    type: 'Art',
    values: 'Erlaubte Werte',
    max_length: 'Längster Text (Zeichen)',
    self: 'Benutzer selbst',
    required: 'Pflichtfeld',
    unique: 'Eindeutig',
    searchable: 'Durchsuchbar',
    claims: 'Für Anwendungen',
    sensitive: 'Vertraulich',
  },
  help: {
    name: 'So nennen es Programme: a bis z, Ziffern und _. Er ändert sich nie.',
    label: 'So nennen es Formulare.',
    description: 'Formulare zeigen sie unter der Bezeichnung.',
    type: 'Sie ändert sich nie.',
    values: 'Einer je Zeile.',
    required: 'Administratoren können es nicht leer lassen. Anmeldungen gelingen auch ohne.',
    unique: 'Keine zwei Benutzer haben denselben Wert, ohne Rücksicht auf Groß- und Kleinschreibung.',
    searchable: 'Listen von Benutzern können danach gefiltert werden.',
    claims: 'Tokens, Userinfo und Introspektion enthalten es unter seinem Namen.',
    sensitive: 'Im Protokoll steht … anstelle seiner Werte.',
    notForJson: 'Nicht für JSON, das nicht verglichen wird.',
  },
  types: {
    string: 'Text',
    number: 'Zahl',
    integer: 'Ganze Zahl',
    boolean: 'Ja oder nein',
    date: 'Tag',
    url: 'Webadresse',
    enum: 'Auswahl',
    json: 'JSON',
  },
  self: { none: 'Sehen es nicht', read: 'Sehen ihren Wert', write: 'Sehen und ändern ihren Wert' },
  traits: 'Eigenschaften',
  notWhole: 'Schreiben Sie eine ganze Zahl.',
  saved: (label) => `${label} ist gespeichert.`,
  deleted: (label) => `${label} ist gelöscht.`,
  deleteTitle: (label) => `${label} löschen?`,
  deleteText:
    'Formulare fragen nicht mehr danach, und Anwendungen erfahren es nicht mehr. Das lässt sich nicht rückgängig machen.',
  inUse: (count) =>
    plural(count, {
      one: '# Benutzer hat einen Wert, der dem entgegensteht.',
      other: '# Benutzer haben Werte, die dem entgegenstehen.',
    }),
  deleteInUse: (count) =>
    plural(count, {
      one: '# Benutzer hat einen Wert dieses Attributs. Er geht endgültig verloren.',
      other: '# Benutzer haben einen Wert dieses Attributs. Alle gehen endgültig verloren.',
    }),
  deleteWithValues: (count) => plural(count, { one: 'Mit # Wert löschen', other: 'Mit # Werten löschen' }),
  title: 'Attribute',
  nothingDeclared: 'Es sind keine Attribute angelegt.',
  declare: 'Attribute anlegen',
  none: 'Keine Angabe',
  yes: 'Ja',
  no: 'Nein',
  problems: {
    json: 'Das ist kein JSON.',
    null: 'Ein Objekt kann kein null enthalten: Lassen Sie das Feld weg.',
  },
  valuesSaved: 'Die Attribute sind gespeichert.',
  optional: 'Weitere Attribute',
  cannotRead: (permission) =>
    `Hier können Sie keine Attribute angeben: Um sie zu lesen, brauchen Sie die Berechtigung ${permission}.`,
  forAll: 'Für alle, die Sie jetzt einladen:',
  onePerLine: 'Muss verschieden sein: ein Wert je Zeile, in der Reihenfolge der Adressen.',
  wrongCount: (values, people) =>
    `${plural(values, { one: '# Wert', other: '# Werte' })} für ${plural(people, { one: '# Person', other: '# Personen' })}.`,
  filter: {
    attribute: 'Attribut',
    value: 'Wert',
    apply: 'Filtern',
    none: 'Kein Attribut ist durchsuchbar.',
  },
};
