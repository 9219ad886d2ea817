// Texte der Seite „API-Referenz“. Die Referenz selbst ist auf Englisch.
import type { Messages } from '../en/index.ts';

export const reference: Messages['reference'] = {
  title: 'API-Referenz',
  text: 'Anfragen von dieser Seite werden in Ihrem Namen gesendet.',
  errors: 'Fehlercodes',
  openapi: 'OpenAPI-Dokument',
  alone: 'Ohne Rahmen öffnen',
  failed: 'Die Referenz konnte nicht geladen werden.',
};
