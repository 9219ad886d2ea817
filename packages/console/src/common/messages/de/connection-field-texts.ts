// What is wrong with a field of an application, an API resource, an identity provider or a webhook, in German, by code of a field error.
// Only the pages of administrators load it. Each completes the name of the field.

export const connectionFieldTexts: Readonly<Record<string, string>> = {
  after_to: 'liegt nach dem Ende des Zeitraums',
  missing: 'fehlt, wird für diese Angaben aber gebraucht',
  fixed: 'steht für diese Art fest; lassen Sie das Feld leer',
  other_kind: 'gehört zu einer anderen Art von Anbieter; wählen Sie diese Art',
  claimed: 'wird schon von einem anderen Anbieter verlangt',
  reserved: 'wird von Castellan selbst gesetzt; entfernen Sie den Eintrag',
  not_https:
    'muss mit https:// beginnen; http ist nur für diesen Rechner erlaubt, für Webhooks auch für private Netze',
  refused_address: 'ist eine Adresse, mit der sich Castellan nicht verbindet',
  fragment: 'darf kein Fragment haben; lassen Sie # und das Folgende weg',
  query: 'darf keine Abfrage haben; lassen Sie ? und das Folgende weg',
  user_info: 'darf weder Benutzernamen noch Passwort enthalten',
  unsafe_path: 'darf im Pfad weder ; noch die Teile . und .. enthalten',
  unsafe_character: 'enthält Zeichen, die hier nicht erlaubt sind',
  unsafe_name: 'enthält einen Namen, der hier nicht erlaubt ist',
  whole_number: 'darf keine ganze Zahl als Namen enthalten',
  wildcard: 'darf kein * enthalten; tragen Sie jede Adresse ein',
  invalid_client_id:
    'muss 1 bis 100 Buchstaben, Ziffern, Punkte, Unterstriche oder Bindestriche haben und mit einem Buchstaben oder einer Ziffer beginnen',
  invalid_slug: 'muss 1 bis 40 Kleinbuchstaben, Ziffern und Bindestriche haben',
  invalid_domain: 'muss die Domain einer E-Mail-Adresse sein, etwa example.com',
  invalid_host: 'muss einen Host in Kleinbuchstaben nennen, etwa app.example.com',
  invalid_origin: 'muss aus Schema und Host bestehen, etwa https://app.example.com',
  invalid_key: 'ist kein Schlüssel, der hier verwendet werden kann',
  invalid_kid: 'muss aus sichtbaren ASCII-Zeichen bestehen',
  secret_key:
    'muss ein öffentlicher Schlüssel sein; ersetzen Sie das Paar, denn sein geheimer Teil wurde gesendet',
  weak_key: 'ist ein zu schwacher Schlüssel',
  wrong_use: 'muss sig sein',
  wrong_alg: 'passt nicht zu diesem Schlüssel',
  invalid_identifier: 'muss eine vollständige Adresse ohne Fragment sein, die nicht zu Castellan gehört',
};
