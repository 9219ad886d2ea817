// What went wrong, in German: by error code of the service, and by code of a field error. English shows the service's text.

export const errorTexts: Readonly<Record<string, string>> = {
  // 400
  malformed_json: 'Die Anfrage enthält kein gültiges JSON.',
  malformed_request: 'Die Anfrage konnte nicht gelesen werden.',
  invalid_text:
    'Der Text enthält Zeichen, die nicht erlaubt sind. Entfernen Sie sie und versuchen Sie es erneut.',
  invalid_id: 'Eine Kennung in der Anfrage ist keine UUID.',
  invalid_input: 'Eine Angabe fehlt oder ist nicht erlaubt.',
  invalid_email: 'Diese E-Mail-Adresse kann hier nicht verwendet werden. Prüfen Sie die Schreibweise.',
  sanitization_failed:
    'E-Mail-Adresse oder Passwort enthalten Zeichen, die nicht erlaubt sind. Entfernen Sie sie.',
  verification_token_invalid:
    'Der Bestätigungslink ist ungültig oder abgelaufen. Fordern Sie einen neuen an.',
  already_verified: 'Diese E-Mail-Adresse ist bereits bestätigt. Melden Sie sich an.',
  registration_not_pending:
    'Dieses Konto ist keine offene Registrierung und kann nicht abgelehnt werden. Wenden Sie sich an Ihre Administration.',
  reset_token_invalid:
    'Der Link zum Zurücksetzen des Passworts ist ungültig oder abgelaufen. Fordern Sie einen neuen an.',
  wrong_current_password: 'Das aktuelle Passwort ist falsch.',
  password_rejected: 'Das Passwort erfüllt die Passwortregeln nicht.',
  registration_refused:
    'Zu viele Registrierungen aus diesem Netz oder für diese E-Mail-Adresse. Versuchen Sie es später erneut.',
  field_not_allowed: 'Eine der Angaben lässt sich hier nicht ändern.',
  hierarchy_too_deep: 'Gruppen lassen sich höchstens 32 Ebenen tief verschachteln.',
  use_change_password: 'Ändern Sie Ihr eigenes Passwort unter „Mein Konto“; dort wird das aktuelle verlangt.',
  password_in_bulk:
    'Passwörter lassen sich nicht für mehrere Benutzer zugleich setzen. Setzen Sie sie einzeln.',
  // 401
  token_missing: 'Melden Sie sich an.',
  token_invalid: 'Die Anmeldung ist ungültig. Melden Sie sich erneut an.',
  token_expired: 'Die Anmeldung ist abgelaufen. Melden Sie sich erneut an.',
  token_revoked: 'Die Anmeldung wurde widerrufen. Melden Sie sich erneut an.',
  api_key_invalid: 'Der API-Schlüssel ist falsch.',
  api_key_expired: 'Der API-Schlüssel ist abgelaufen. Verwenden Sie einen neuen.',
  api_key_revoked: 'Der API-Schlüssel wurde widerrufen. Verwenden Sie einen anderen.',
  service_account_inactive: 'Das Dienstkonto dieses API-Schlüssels ist nicht aktiv.',
  refresh_token_invalid: 'Die Sitzung ist ungültig oder abgelaufen. Melden Sie sich erneut an.',
  // 403
  csrf_invalid:
    'Das CSRF-Token fehlt oder ist ungültig. Laden Sie die Seite neu und versuchen Sie es erneut.',
  password_change_required: 'Ändern Sie zuerst Ihr Passwort. Bis dahin werden andere Aktionen abgelehnt.',
  permission_denied: 'Ihnen fehlt die Berechtigung für diese Aktion.',
  user_required: 'Das kann nur eine angemeldete Person: Es betrifft das Konto einer Person.',
  privilege_escalation: 'Dafür sind Berechtigungen nötig, die Sie nicht haben.',
  superuser_required: 'Das kann nur ein Superuser.',
  self_delete: 'Sie können Ihr eigenes Konto nicht löschen.',
  system_role:
    'Name und Berechtigungen einer Systemrolle lassen sich nicht ändern, und sie lässt sich nicht löschen.',
  admin_required: 'Das ist nur für die Administration sichtbar.',
  // 404, 405
  route_not_found: 'Unter dieser Adresse gibt es nichts.',
  user_not_found: 'Diesen Benutzer gibt es nicht.',
  session_not_found: 'Diese Sitzung gibt es nicht mehr.',
  role_not_found: 'Diese Rolle gibt es nicht.',
  service_account_not_found: 'Dieses Dienstkonto gibt es nicht.',
  api_key_not_found: 'Diesen API-Schlüssel gibt es bei diesem Dienstkonto nicht.',
  permission_not_found: 'Diese Berechtigung gibt es nicht.',
  role_group_not_found: 'Diese Rollengruppe gibt es nicht.',
  permission_group_not_found: 'Diese Berechtigungsgruppe gibt es nicht.',
  method_not_allowed: 'Diese Methode ist unter dieser Adresse nicht erlaubt.',
  // 408 to 415
  request_timeout: 'Die Anfrage kam zu langsam an. Senden Sie sie erneut.',
  email_taken: 'Zu dieser E-Mail-Adresse gibt es bereits ein Konto.',
  name_taken: 'Dieser Name ist schon vergeben. Groß- und Kleinschreibung wird nicht unterschieden.',
  key_ended: 'Dieser API-Schlüssel ist abgelaufen oder widerrufen. Erstellen Sie einen neuen.',
  too_many_keys:
    'Das Dienstkonto hat bereits so viele API-Schlüssel, wie es haben kann. Widerrufen Sie einen, der nicht verwendet wird.',
  user_has_roles: 'Der Benutzer hat Rollen. Entfernen Sie sie zuerst.',
  last_superuser:
    'Das ist der letzte aktive Superuser. Das Konto lässt sich weder löschen noch deaktivieren noch herabstufen.',
  role_in_use: 'Die Rolle hat noch Berechtigungen, Benutzer oder Dienstkonten. Entfernen Sie sie zuerst.',
  permission_in_use: 'Die Berechtigung gehört zu einer Rolle. Entfernen Sie sie zuerst aus der Rolle.',
  group_in_use: 'Die Gruppe hat noch Untergruppen oder Mitglieder. Entfernen Sie sie zuerst.',
  circular_dependency: 'Diese Änderung würde einen Kreis ergeben.',
  idempotency_in_progress:
    'Die erste dieser Anfragen wird noch bearbeitet. Versuchen Sie es gleich noch einmal.',
  conflict:
    'Die Änderung widerspricht dem aktuellen Stand. Laden Sie die Seite neu und versuchen Sie es erneut.',
  precondition_failed:
    'Jemand anderes hat diesen Datensatz inzwischen geändert. Laden Sie ihn neu, um den aktuellen Stand zu sehen.',
  body_too_large: 'Die Anfrage ist zu groß.',
  uri_too_long: 'Die Adresse ist zu lang.',
  unsupported_media_type: 'Der Inhalt der Anfrage hat ein Format, das der Dienst nicht annimmt.',
  // 422
  validation_failed: 'Eine Angabe fehlt oder ist nicht erlaubt.',
  invalid_credentials: 'E-Mail-Adresse oder Passwort ist falsch.',
  account_locked: 'Dieses Konto ist nach zu vielen Fehlversuchen gesperrt. Versuchen Sie es später erneut.',
  email_not_verified:
    'Die E-Mail-Adresse ist noch nicht bestätigt. Folgen Sie dem Link in der E-Mail, oder fordern Sie einen neuen an.',
  too_many_matches:
    'Der Filter trifft mehr Datensätze, als eine Anfrage ändern darf. Es wurde nichts geändert. Grenzen Sie den Filter ein.',
  idempotency_key_reused: 'Dieser Idempotency-Key wurde schon für eine andere Anfrage verwendet.',
  // 429
  rate_limited: 'Zu viele Anfragen. Warten Sie, bevor Sie es erneut versuchen.',
  // 431, 499, 5xx
  headers_too_large: 'Die Kopfzeilen der Anfrage sind zu groß.',
  client_gone: 'Die Verbindung wurde vor der Antwort getrennt.',
  internal_error:
    'Im Dienst ist etwas schiefgegangen. Wenn es wieder passiert, melden Sie die Nummer der Anfrage.',
  overloaded: 'Der Dienst ist ausgelastet. Versuchen Sie es gleich noch einmal.',
  database_unavailable:
    'Der Dienst erreicht seine Datenbank gerade nicht. Versuchen Sie es gleich noch einmal.',
  // The token services
  invalid_request: 'In der Anfrage fehlt ein Parameter, er steht doppelt da, oder sie ist fehlerhaft.',
  unsupported_grant_type: 'Diese Art der Autorisierung wird nicht unterstützt.',
  invalid_scope: 'Scopes werden nicht unterstützt.',
  invalid_client: 'Der Client ist nicht angemeldet.',
  insufficient_scope: 'Dem Client fehlt die Berechtigung für diese Aktion.',
  server_error:
    'Im Dienst ist etwas schiefgegangen. Wenn es wieder passiert, melden Sie die Nummer der Anfrage.',
  temporarily_unavailable:
    'Der Dienst ist ausgelastet oder erreicht seine Datenbank nicht. Versuchen Sie es gleich noch einmal.',
};

export const fieldTexts: Readonly<Record<string, string>> = {
  required: 'fehlt',
  unknown_name: 'ist hier nicht bekannt; prüfen Sie die Schreibweise',
  wrong_type: 'hat die falsche Art',
  too_short: 'ist zu kurz',
  too_long: 'ist zu lang',
  too_few: 'enthält zu wenige Einträge',
  too_many: 'enthält zu viele Einträge',
  out_of_range: 'liegt außerhalb des erlaubten Bereichs',
  unknown_value: 'ist kein erlaubter Wert',
  invalid: 'ist nicht erlaubt',
  invalid_uuid: 'muss eine UUID sein',
  invalid_date_time: 'muss ein Zeitpunkt sein',
  invalid_email: 'ist keine E-Mail-Adresse, die hier verwendet werden kann',
  invalid_action: 'darf keine Leerzeichen enthalten und weder mit einem Punkt beginnen noch enden',
  invalid_name: 'darf weder mit einem Punkt beginnen noch enden',
  uuid_name: 'darf keine UUID sein, weil sie als Kennung gelesen würde',
  invalid_address: 'muss eine IP-Adresse oder ein Netz sein',
  invalid_cursor: 'gehört nicht zu dieser Liste; beginnen Sie von vorn',
  invalid_time: 'muss ein Zeitpunkt sein',
  invalid_token: 'gehört nicht zu dieser Suche; beginnen Sie von vorn',
  not_allowed: 'kann hier nicht geändert werden',
  not_in_future: 'muss in der Zukunft liegen',
  not_supported: 'wird hier nicht unterstützt',
  ambiguous: 'ist mehrdeutig',
  repeated: 'nennt denselben Datensatz mehrmals',
  unknown_id: 'gibt es nicht',
  email_taken: 'gehört zu einem anderen Konto',
  system_role: 'ist eine Systemrolle',
};
