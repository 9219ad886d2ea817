// German texts of recovery codes that are shown once, wherever that is.
import type { recoveryCodeTexts as english } from '../en/recovery-codes.ts';
import type { Widened } from '../type.ts';

export const recoveryCodeTexts: Widened<typeof english> = {
  shownTitle: 'Bewahren Sie Ihre Wiederherstellungscodes auf',
  list: 'Ihre Wiederherstellungscodes',
  download: 'Herunterladen',
  print: 'Drucken',
  kept: 'Ich habe sie aufbewahrt',
  file: (service, email) =>
    `Wiederherstellungscodes von ${email} für ${service}.\nJeder gilt für eine Anmeldung, anstelle des zweiten Faktors.\n`,
};
