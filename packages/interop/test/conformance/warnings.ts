// The warnings of modules that stay, with the reasons. A warning is about something that a provider should do and does not have to.
// A test fails when one appears that is not listed, and when a listed one is gone.

type Warnings = Readonly<Record<string, readonly string[]>>;

// The tests run on a loopback address. In operation, the addresses are those of PUBLIC_URL.
const plain = ['addresses without https'];

/** Of every provider that runs here. */
const shared: Warnings = {
  'oidcc-discovery-endpoint-verification': plain,
  'oidcc-rp-initiated-logout-discovery-endpoint-verification': plain,
  'oidcc-backchannel-logout-discovery-endpoint-verification': plain,
  // No account has an address or a telephone number. Unknown scopes are dropped.
  'oidcc-scope-address': ['discovery does not name address'],
  'oidcc-scope-phone': ['discovery does not name phone'],
  'oidcc-scope-all': ['discovery does not name phone', 'discovery does not name address'],
};

export const warningsOfLibrary: Warnings = {
  ...shared,
  // It says nothing about how the person signed in, unless its configuration does.
  'oidcc-ensure-request-with-acr-values-succeeds': ['acr is undefined'],
};

// Most clients look for the email there. `id_token_claims: minimal` of an application leaves it to userinfo.
const email = ['the ID token has the email, which belongs in userinfo'];

export const warningsOfCastellan: Warnings = {
  ...shared,
  'oidcc-scope-email': email,
  'oidcc-alternate-happy-flow': email,
};
