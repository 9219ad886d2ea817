// Decides in which language a person gets mails.
// A request of which nobody knows who sent it must not change the language of an account: callers store the result only
// at registration and at a sign-in with the right password.

import { preferredLanguage } from '../../platform/http/accept-language.ts';
import type { Client } from '../../platform/http/client.ts';
import { type Language, languages } from '../../platform/languages.ts';

/** Returns the language that the request asks for; null if it names none that we have. */
export const languageOf = ({ acceptLanguage }: Pick<Client, 'acceptLanguage'>): Language | null =>
  preferredLanguage(languages, acceptLanguage);

/** Returns the language of a user's mails. A stored one without texts counts as unknown. */
export const languageOfMails = (stored: string | null, byDefault: Language): Language =>
  languages.find((one) => one === stored) ?? byDefault;
