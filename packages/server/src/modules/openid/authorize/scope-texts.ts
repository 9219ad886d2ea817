// What each scope means, in the sentences of the page that asks whether a person agrees.
import type { Language } from '../../../platform/languages.ts';

const texts: Readonly<Record<string, Readonly<Record<Language, string>>>> = {
  openid: { en: 'Know who you are', de: 'Wissen, wer Sie sind' },
  profile: { en: 'See your name and your language', de: 'Ihren Namen und Ihre Sprache sehen' },
  email: { en: 'See your email', de: 'Ihre Mailadresse sehen' },
  roles: { en: 'See your roles', de: 'Ihre Rollen sehen' },
  groups: { en: 'See the groups of your roles', de: 'Die Gruppen Ihrer Rollen sehen' },
  permissions: {
    en: 'See which of its permissions you hold',
    de: 'Sehen, welche seiner Berechtigungen Sie haben',
  },
  offline_access: {
    en: 'Keep this access when you are not there',
    de: 'Diesen Zugriff behalten, wenn Sie nicht da sind',
  },
};

export const textOf = (scope: string, language: Language): string => texts[scope]?.[language] ?? scope;
