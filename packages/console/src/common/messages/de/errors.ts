// What went wrong, in German, by error code of the service. English shows the service's text.
import { visitorErrorTexts } from './visitor-errors.ts';

export const errorTexts: Readonly<Record<string, string>> = {
  ...visitorErrorTexts,
  // 400
  email_change_token_invalid:
    'Der Link ist ungültig, abgelaufen, schon verwendet oder ersetzt. Ändern Sie die E-Mail-Adresse erneut.',
  email_undo_token_invalid:
    'Der Link ist ungültig, abgelaufen oder schon verwendet, oder die Administration hat das Konto seitdem geändert.',
  invitation_token_invalid:
    'Die Einladung ist ungültig, abgelaufen, zurückgezogen oder schon angenommen. Bitten Sie um eine neue.',
  undo_token_invalid:
    'Der Link ist ungültig oder schon verwendet, oder das Konto soll nicht mehr gelöscht werden. Melden Sie sich an, oder wenden Sie sich an Ihre Administration.',
  not_invited: 'Dieser Benutzer ist nicht eingeladen oder hat die Einladung schon angenommen.',
  invalid_id: 'Eine Kennung in der Anfrage ist keine UUID.',
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
  personal_token_invalid: 'Das persönliche Zugriffstoken ist falsch.',
  personal_token_expired: 'Das persönliche Zugriffstoken ist abgelaufen. Erstellen Sie ein neues.',
  personal_token_revoked: 'Das persönliche Zugriffstoken ist beendet. Erstellen Sie ein neues.',
  refresh_token_invalid: 'Die Sitzung ist ungültig oder abgelaufen. Melden Sie sich erneut an.',
  // 403
  password_change_required: 'Ändern Sie zuerst Ihr Passwort. Bis dahin werden andere Aktionen abgelehnt.',
  permission_denied: 'Ihnen fehlt die Berechtigung für diese Aktion.',
  acting_as:
    'Sie handeln im Namen eines anderen, und das betrifft dessen eigenes Konto. Beenden Sie zuerst das Handeln in dessen Namen.',
  user_required: 'Das kann nur eine angemeldete Person: Es betrifft das Konto einer Person.',
  service_account_required:
    'Das kann nur ein Dienstkonto. Senden Sie einen seiner API-Schlüssel oder sein Zugriffstoken.',
  user_session_required: 'Ein persönliches Zugriffstoken genügt dafür nicht. Melden Sie sich an.',
  personal_tokens_off: 'Persönliche Zugriffstoken sind hier abgeschaltet.',
  privilege_escalation: 'Dafür sind Berechtigungen nötig, die Sie nicht haben.',
  superuser_required: 'Das kann nur ein Superuser.',
  self_deletion_off: 'Konten lassen sich hier nicht selbst löschen. Wenden Sie sich an Ihre Administration.',
  self_delete: 'Sie können Ihr eigenes Konto nicht löschen.',
  system_role:
    'Name und Berechtigungen einer Systemrolle lassen sich nicht ändern, und sie lässt sich nicht löschen.',
  admin_required: 'Das ist nur für die Administration sichtbar.',
  // 404, 405
  user_not_found: 'Diesen Benutzer gibt es nicht.',
  session_not_found: 'Diese Sitzung gibt es nicht mehr.',
  role_not_found: 'Diese Rolle gibt es nicht.',
  service_account_not_found: 'Dieses Dienstkonto gibt es nicht.',
  api_key_not_found: 'Diesen API-Schlüssel gibt es bei diesem Dienstkonto nicht.',
  audit_entry_not_found: 'Diesen Eintrag gibt es im Protokoll nicht.',
  seal_log_not_found: 'Dieses versiegelte Protokoll gibt es nicht.',
  not_sealed: 'Das ist noch nicht versiegelt. Einträge werden nach etwa zehn Sekunden versiegelt.',
  entry_removed: 'Der Eintrag wurde entfernt, weil er älter als die Aufbewahrungsfrist war.',
  personal_token_not_found: 'Dieses persönliche Zugriffstoken gibt es an diesem Konto nicht.',
  application_not_found: 'Diese Anwendung gibt es nicht.',
  user_attribute_not_found: 'Dieses Benutzerattribut gibt es nicht.',
  user_attribute_in_use:
    'Benutzer haben Werte dieses Attributs, die dadurch verloren gingen oder nicht mehr erlaubt wären.',
  user_attribute_taken: 'Ein anderer Benutzer hat diesen Wert eines eindeutigen Attributs.',
  too_many_user_attributes:
    'Es kann höchstens 100 Attribute geben. Löschen Sie eines, das nicht verwendet wird.',
  api_resource_not_found: 'Diese API gibt es nicht.',
  provider_in_use: 'Mit diesem Anmeldedienst sind noch Konten verknüpft.',
  access_grant_not_found: 'Diesen Zugriff gibt es bei dieser Anwendung nicht mehr.',
  api_resource_in_use: 'Eine Anwendung verwendet diese API noch. Entfernen Sie sie dort zuerst.',
  identity_not_found: 'Diese Verknüpfung gibt es an diesem Konto nicht.',
  interaction_not_found:
    'Diese Anfrage einer Anwendung ist abgeschlossen oder abgelaufen. Beginnen Sie dort noch einmal.',
  user_code_unknown:
    'Auf diesen Code wartet kein Gerät. Prüfen Sie ihn, oder lassen Sie sich am Gerät einen neuen geben.',
  application_secret_not_found: 'Dieses Geheimnis gibt es bei dieser Anwendung nicht.',
  webhook_not_found: 'Diesen Webhook gibt es nicht.',
  delivery_not_found: 'Diese Zustellung gibt es bei diesem Webhook nicht.',
  permission_not_found: 'Diese Berechtigung gibt es nicht.',
  role_group_not_found: 'Diese Rollengruppe gibt es nicht.',
  permission_group_not_found: 'Diese Berechtigungsgruppe gibt es nicht.',
  method_not_allowed: 'Diese Methode ist unter dieser Adresse nicht erlaubt.',
  // 408 to 415
  name_taken: 'Dieser Name ist schon vergeben. Groß- und Kleinschreibung wird nicht unterschieden.',
  external_id_taken: 'Ein anderer Eintrag dieser Art hat diese externe ID.',
  key_ended: 'Dieser API-Schlüssel ist abgelaufen oder widerrufen. Erstellen Sie einen neuen.',
  too_many_keys:
    'Das Dienstkonto hat bereits so viele API-Schlüssel, wie es haben kann. Widerrufen Sie einen, der nicht verwendet wird.',
  too_many_tokens:
    'Ein Konto hat höchstens 50 persönliche Zugriffstoken. Beenden Sie eines, das nicht verwendet wird.',
  too_many_secrets:
    'Es gelten schon so viele Geheimnisse, wie es sein dürfen: 5 bei einer Anwendung, 3 bei einem Webhook. Widerrufen Sie eines, oder warten Sie, bis eines endet.',
  too_many_webhooks: 'Es kann höchstens 50 Webhooks geben. Löschen Sie einen, der nicht verwendet wird.',
  replay_running:
    'Dieser Webhook bekommt gerade schon frühere Ereignisse. Warten Sie, bis alle zugestellt sind.',
  identity_taken: 'Diese Identität ist mit einem anderen Konto verknüpft.',
  last_sign_in_method:
    'Es gibt keinen anderen Weg, sich an diesem Konto anzumelden. Setzen Sie zuerst ein Passwort, legen Sie einen Passkey an oder verknüpfen Sie einen weiteren Anmeldedienst.',
  user_has_roles: 'Der Benutzer hat Rollen. Entfernen Sie sie zuerst.',
  last_superuser:
    'Das ist der letzte aktive Superuser. Das Konto lässt sich weder löschen noch deaktivieren noch herabstufen.',
  role_in_use: 'Die Rolle hat noch Berechtigungen, Benutzer oder Dienstkonten. Entfernen Sie sie zuerst.',
  permission_in_use:
    'Die Berechtigung gehört zu einer Rolle, oder eine Anwendung verlangt sie. Entfernen Sie sie dort zuerst.',
  group_in_use: 'Die Gruppe hat noch Untergruppen oder Mitglieder. Entfernen Sie sie zuerst.',
  circular_dependency: 'Diese Änderung würde einen Kreis ergeben.',
  idempotency_in_progress:
    'Die erste dieser Anfragen wird noch bearbeitet. Versuchen Sie es gleich noch einmal.',
  precondition_failed:
    'Jemand anderes hat diesen Datensatz inzwischen geändert. Laden Sie ihn neu, um den aktuellen Stand zu sehen.',
  not_acceptable: 'Die Antwort gibt es in keinem der Formate, die der Header Accept nennt.',
  uri_too_long: 'Die Adresse ist zu lang.',
  unsupported_media_type: 'Der Inhalt der Anfrage hat ein Format, das der Dienst nicht annimmt.',
  // 422
  invalid_webhook_url:
    'An diese Adresse sendet Castellan nicht. Geben Sie eine https-Adresse ohne Benutzername, Passwort und Fragment an.',
  unknown_event: 'Ereignisse dieser Art gibt es nicht.',
  too_many_matches:
    'Der Filter trifft mehr Datensätze, als eine Anfrage ändern darf. Es wurde nichts geändert. Grenzen Sie den Filter ein.',
  idempotency_key_reused: 'Dieser Idempotency-Key wurde schon für eine andere Anfrage verwendet.',
  // 429
  // 431, 499, 5xx
  headers_too_large: 'Die Kopfzeilen der Anfrage sind zu groß.',
  // The token services
  invalid_request: 'In der Anfrage fehlt ein Parameter, er steht doppelt da, oder sie ist fehlerhaft.',
  unsupported_grant_type: 'Diese Art der Autorisierung wird nicht unterstützt.',
  invalid_scope: 'Diesen Scope kann die Anfrage nicht bekommen.',
  invalid_grant: 'Der Code oder das Refresh-Token ist unbekannt, verbraucht oder abgelaufen.',
  unauthorized_client: 'Die Anwendung darf diese Art der Autorisierung nicht verwenden.',
  invalid_target: 'Für diese Ressource darf die Anwendung keine Tokens bekommen.',
  invalid_dpop_proof: 'Der DPoP-Nachweis fehlt oder ist falsch.',
  unsupported_response_type: 'Dieser response_type wird nicht unterstützt.',
  request_not_supported: 'Anfrageobjekte werden nicht unterstützt.',
  request_uri_not_supported: 'Eine vorab gesendete Anfrage hat keine request_uri.',
  authorization_pending: 'Dieses Gerät hat noch niemand erlaubt oder abgelehnt.',
  slow_down: 'Das Gerät hat zu schnell wieder gefragt.',
  access_denied: 'Dieses Gerät wurde nicht erlaubt.',
  expired_token: 'Der Gerätecode ist abgelaufen. Beginnen Sie am Gerät neu.',
  browser_session_required:
    'In diesem Browser ist niemand angemeldet. Melden Sie sich an und versuchen Sie es noch einmal.',
  invalid_token: 'Das Zugriffstoken fehlt, ist beendet oder gilt hier nicht.',
  invalid_client: 'Der Client ist nicht angemeldet.',
  insufficient_scope: 'Dem Client fehlt die Berechtigung für diese Aktion.',
  server_error:
    'Im Dienst ist etwas schiefgegangen. Wenn es wieder passiert, melden Sie die Nummer der Anfrage.',
  temporarily_unavailable:
    'Der Dienst ist ausgelastet oder erreicht seine Datenbank nicht. Versuchen Sie es gleich noch einmal.',
  // Second factors
  second_factor_enrolment_required:
    'Ihr Konto braucht einen zweiten Faktor. Richten Sie unter „Mein Konto“ einen ein; bis dahin werden andere Aktionen abgelehnt.',
  step_up_required: 'Bestätigen Sie, dass Sie es sind, und wiederholen Sie dann die Aktion.',
  cannot_act_as_oneself: 'Sie können nicht im eigenen Namen handeln.',
  invalid_cursor: 'Diese Position gehört nicht zu den Änderungen. Beginnen Sie ohne sie von vorn.',
  use_own_factors: 'Ändern Sie Ihre eigenen Faktoren unter „Mein Konto“.',
  factor_not_found: 'Diesen Faktor gibt es bei diesem Konto nicht.',
  device_not_found: 'Dieses Gerät gibt es bei diesem Konto nicht.',
  passkey_taken: 'Dieser Passkey ist schon registriert.',
  too_many_factors: 'Ein Konto hat höchstens 20 Passkeys. Entfernen Sie zuerst einen.',
  enrolment_expired: 'Die Einrichtung ist abgelaufen oder wurde anderswo begonnen. Beginnen Sie noch einmal.',
  no_factor: 'Das Konto hat keinen zweiten Faktor.',
  last_factor:
    'Ihre Rollen verlangen einen zweiten Faktor. Fügen Sie einen anderen hinzu, bevor Sie diesen entfernen.',
};
