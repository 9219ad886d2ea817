// German texts that the app and the pages of people who are not signed in share.
import type { PasswordRule } from '@castellan/sdk';
import type { passwordTexts as english } from '../en/password.ts';
import type { Widened } from '../type.ts';

const rules: Readonly<Record<string, (parameters: PasswordRule['parameters']) => string>> = {
  too_short: ({ min_length: length }) => `Verwenden Sie mindestens ${length} Zeichen.`,
  too_long: ({ max_length: length }) => `Verwenden Sie höchstens ${length} Zeichen.`,
  missing_uppercase: () => 'Fügen Sie einen Großbuchstaben hinzu.',
  missing_lowercase: () => 'Fügen Sie einen Kleinbuchstaben hinzu.',
  missing_digit: () => 'Fügen Sie eine Ziffer hinzu.',
  missing_special: () => 'Fügen Sie ein Sonderzeichen hinzu, etwa ! # oder ?.',
  too_common: () =>
    'Wählen Sie ein weniger verbreitetes Passwort: Dieses ist bekannt, oder es ist ein bekanntes mit angehängten Ziffern oder Zeichen.',
  common: () =>
    'Wählen Sie ein Passwort, das mehr ist als ein Wort dieses Dienstes mit Ziffern, Zeichen oder ähnlich aussehenden Buchstaben.',
  breached: () =>
    'Wählen Sie ein Passwort, das anders als dieses in keiner Sammlung gestohlener Passwörter steht.',
  sequential_run: () =>
    'Vermeiden Sie drei oder mehr aufeinanderfolgende Buchstaben oder Ziffern wie abc oder 321.',
  repeated_run: () => 'Vermeiden Sie dasselbe Zeichen dreimal oder öfter hintereinander.',
  too_weak: () =>
    'Wählen Sie ein Passwort, das schwerer zu erraten ist: mit Wörtern ohne Zusammenhang, ohne Ihren Namen und Ihre E-Mail-Adresse.',
  reused: () => 'Wählen Sie ein Passwort, das Sie hier noch nicht verwendet haben.',
};

const items: Readonly<Record<string, (parameters: PasswordRule['parameters']) => string>> = {
  too_short: ({ min_length: length }) => `mindestens ${length} Zeichen`,
  too_long: ({ max_length: length }) => `höchstens ${length} Zeichen`,
  missing_uppercase: () => 'ein Großbuchstabe',
  missing_lowercase: () => 'ein Kleinbuchstabe',
  missing_digit: () => 'eine Ziffer',
  missing_special: () => 'ein Sonderzeichen, etwa ! # oder ?',
  too_common: () => 'kein verbreitetes Passwort',
  common: () => 'mehr als ein Wort dieses Dienstes',
  breached: () => 'in keiner Sammlung gestohlener Passwörter',
  sequential_run: () => 'keine Folge wie abc oder 321',
  repeated_run: () => 'kein Zeichen dreimal hintereinander',
  too_weak: () => 'schwer zu erraten',
  reused: () => 'hier noch nicht verwendet',
};

export const passwordTexts: Widened<typeof english> = {
  rules: 'Das Passwort',
  met: 'erfüllt',
  open: 'noch nicht erfüllt',
  broken: 'nicht erfüllt',
  later: 'wird beim Absenden geprüft',
  show: 'Passwort anzeigen',
  hide: 'Passwort verbergen',
  item: (rule) => items[rule.code]?.(rule.parameters) ?? rule.message,
  rule: (rule) => rules[rule.code]?.(rule.parameters) ?? rule.message,
};
