// The languages that the service writes mails in, as BCP 47 primary tags.
// It must not contain a text in any of them.

export const languages = ['en', 'de'] as const;
export type Language = (typeof languages)[number];
