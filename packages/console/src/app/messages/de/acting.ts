// German texts about acting as somebody else.
import type { LaterMessages } from '../en/later.ts';

export const acting: LaterMessages['acting'] = {
  ask: (name) => `Im Namen von ${name} handeln`,
  text: (name) =>
    `Sie sehen, was ${name} sieht, und tun, was dieses Konto darf. Passwort, zweite Faktoren und alles andere, was nur die Person selbst ändern kann, bleibt ihr vorbehalten.`,
  told: 'Die Person sieht es in der Liste ihrer Sitzungen und bekommt eine E-Mail, wenn Ihre Organisation das nicht abgeschaltet hat. Jeder Eintrag des Protokolls nennt auch Sie.',
  reason: 'Grund',
  reasonHelp: 'Mindestens 5 Zeichen. Er steht im Protokoll.',
  minutes: 'Für wie viele Minuten',
  minutesHelp: '1 bis 60. Nichts verlängert sie.',
  begin: 'Beginnen',
  bar: {
    label: 'Handeln in fremdem Namen',
    as: 'Sie handeln als',
    until: (time) => `bis ${time}.`,
    stop: 'Beenden',
  },
  over: {
    title: (name) => `Sie handeln nicht mehr im Namen von ${name}`,
    time: 'Die Zeit ist um. Was Sie nicht gespeichert hatten, ist verloren.',
    ended:
      'Die Sitzung wurde beendet, oder es hat sich geändert, was Sie oder diese Person dürfen. Was Sie nicht gespeichert hatten, ist verloren.',
    onward: 'Als Sie selbst weiter',
  },
  former: (name) => `Sie handeln nicht mehr im Namen von ${name}. Das ist Ihr eigenes Konto.`,
  account: {
    title: (name) => `Das Konto von ${name}`,
    access: 'Was diese Person darf',
    text: 'Sie handeln in fremdem Namen. Namen, E-Mail-Adresse, Passwort, zweite Faktoren, Sitzungen, Tokens, verbundene Konten und Daten gehören allein dieser Person: Wer in ihrem Namen handelt, sieht und ändert sie hier nicht.',
  },
};
