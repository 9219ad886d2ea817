// The languages that people can choose. It must not import anything: the build reads it, too.

/** `en-XB` is made from English for tests: each text in brackets, from right to left. */
export type Language = 'en' | 'de' | 'en-XB';

export const languages: readonly { tag: Language; name: string }[] = [
  { tag: 'en', name: 'English' },
  { tag: 'de', name: 'Deutsch' },
];
