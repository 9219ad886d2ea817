// What can go wrong for people who are not signed in, in German, by error code of the service.
// It must have only the codes that their pages can get: they load all of it.

export const visitorErrorTexts: Readonly<Record<string, string>> = {
  malformed_json: 'Die Anfrage enthält kein gültiges JSON.',
  malformed_request: 'Die Anfrage konnte nicht gelesen werden.',
  invalid_text:
    'Der Text enthält Zeichen, die nicht erlaubt sind. Entfernen Sie sie und versuchen Sie es erneut.',
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
  password_rejected: 'Das Passwort erfüllt die Passwortregeln nicht.',
  registration_refused:
    'Zu viele Registrierungen aus diesem Netz oder für diese E-Mail-Adresse. Versuchen Sie es später erneut.',
  csrf_invalid:
    'Das CSRF-Token fehlt oder ist ungültig. Laden Sie die Seite neu und versuchen Sie es erneut.',
  route_not_found: 'Unter dieser Adresse gibt es nichts.',
  request_timeout: 'Die Anfrage kam zu langsam an. Senden Sie sie erneut.',
  email_taken: 'Zu dieser E-Mail-Adresse gibt es bereits ein Konto.',
  conflict:
    'Die Änderung widerspricht dem aktuellen Stand. Laden Sie die Seite neu und versuchen Sie es erneut.',
  body_too_large: 'Die Anfrage ist zu groß.',
  validation_failed: 'Eine Angabe fehlt oder ist nicht erlaubt.',
  invalid_credentials: 'E-Mail-Adresse oder Passwort ist falsch.',
  wrong_current_password: 'Das aktuelle Passwort ist falsch.',
  provider_required: 'Menschen mit dieser E-Mail-Adresse melden sich über ihren Anmeldedienst an.',
  no_password: 'Dieses Konto hat kein Passwort. Setzen Sie eines über den Link zum Zurücksetzen.',
  account_locked: 'Dieses Konto ist nach zu vielen Fehlversuchen gesperrt. Versuchen Sie es später erneut.',
  email_not_verified:
    'Die E-Mail-Adresse ist noch nicht bestätigt. Folgen Sie dem Link in der E-Mail, oder fordern Sie einen neuen an.',
  identity_provider_not_found: 'Diesen Anmeldedienst gibt es nicht, oder er ist nicht aktiv.',
  pending_identity_not_found:
    'In diesem Browser wartet keine Anmeldung über einen Anmeldedienst, oder sie ist abgelaufen. Beginnen Sie auf der Anmeldeseite noch einmal.',
  code_invalid:
    'Dieser Code ist falsch, wurde schon verwendet oder ist abgelaufen. Prüfen Sie die neueste E-Mail, oder fordern Sie einen anderen Code an.',
  provider_unavailable: 'Der Anmeldedienst ist gerade nicht erreichbar. Versuchen Sie es gleich noch einmal.',
  rate_limited: 'Zu viele Anfragen. Warten Sie, bevor Sie es erneut versuchen.',
  client_gone: 'Die Verbindung wurde vor der Antwort getrennt.',
  internal_error:
    'Im Dienst ist etwas schiefgegangen. Wenn es wieder passiert, melden Sie die Nummer der Anfrage.',
  overloaded: 'Der Dienst ist ausgelastet. Versuchen Sie es gleich noch einmal.',
  database_unavailable:
    'Der Dienst erreicht seine Datenbank gerade nicht. Versuchen Sie es gleich noch einmal.',
  second_factor_required: 'Das Passwort stimmt. Bestätigen Sie die Anmeldung mit Ihrem zweiten Faktor.',
  second_factor_invalid:
    'Dieser Code ist falsch oder wurde schon verwendet. Prüfen Sie die Uhrzeit Ihres Geräts und versuchen Sie es mit dem nächsten.',
  code_already_used: 'Dieser Code wurde gerade verwendet. Warten Sie auf den nächsten.',
  second_factor_locked:
    'Zu viele falsche Codes. Verwenden Sie einen Passkey oder einen Wiederherstellungscode, oder versuchen Sie es später erneut.',
  sign_in_expired: 'Diese Anmeldung ist abgelaufen. Beginnen Sie noch einmal mit Ihrem Passwort.',
  passkey_unknown: 'Dieser Passkey gehört hier zu keinem Konto. Vielleicht wurde er entfernt.',
  passkey_refused:
    'Der Passkey konnte nicht geprüft werden. Versuchen Sie es erneut, oder melden Sie sich anders an.',
  passkeys_unavailable: 'Passkeys sind abgeschaltet oder unter dieser Adresse nicht möglich.',
};
