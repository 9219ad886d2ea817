// What the service tells the pages about itself, in a `meta` element of each page.

export type PageSettings = {
  serviceName: string;
  /** PUBLIC_URL, without a slash at the end: what tokens name as their issuer. */
  issuer: string;
  /** The path of PUBLIC_URL, without a slash at the end; often empty. */
  basePath: string;
  /** Where "Continue" leads: the operator's app. */
  appUrl: string | null;
  /** The operator's page to ask for a reset mail; null for ours. */
  forgotUrl: string | null;
  hasLogo: boolean;
  /** Width by height of the logo; null if its file does not tell. */
  logoRatio: number | null;
  version: string;
  /** SELF_DELETION_DAYS; null if people cannot delete their own account. */
  selfDeletionDays: number | null;
  /** How long a mailed link to set a new password works. */
  resetLinkMinutes: number;
  /** The setting LANGUAGE: what shows to people whose browser asks for a language that we do not have. */
  language: string;
};

/** Empty where there is no page, as in tests of single modules. */
function readSettings(): Partial<PageSettings> {
  const given = globalThis.document?.querySelector<HTMLMetaElement>('meta[name="page-settings"]')?.content;
  return given?.startsWith('{') ? JSON.parse(given) : {};
}

export const pageSettings: PageSettings = {
  serviceName: 'Castellan',
  issuer: '',
  basePath: '',
  appUrl: null,
  forgotUrl: null,
  hasLogo: false,
  logoRatio: null,
  version: '',
  selfDeletionDays: null,
  resetLinkMinutes: 30,
  language: 'en',
  ...readSettings(),
};

/** Returns the width of the logo at this height, so that nothing moves when it arrives. */
export const logoWidth = (height: number): number | undefined =>
  pageSettings.logoRatio === null ? undefined : Math.round(height * pageSettings.logoRatio);

/** Returns the address of one of our pages or files, such as `/login`. */
export const addressOf = (path: string): string => `${pageSettings.basePath}${path}`;
