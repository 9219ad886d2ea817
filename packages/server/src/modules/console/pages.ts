// Reads the pages that packages/console builds, and fills in what they know about the service.
import { readFileSync } from 'node:fs';
import { createStaticText, type StaticText } from '../../platform/http/answers/static-text.ts';
import { compileTemplate } from '../../platform/mail/text-template.ts';
import type { Logo } from './logo.ts';

export type ConsoleDeps = {
  settings: {
    serviceName: string;
    publicUrl: string;
    appUrl: string | undefined;
    forgotUrl: string | undefined;
    basePath: string;
    accentColor: string;
    language: string;
    selfDeletionDays: number | null;
  };
  /** The operator's logo; undefined for ours. */
  logo: Logo | undefined;
  /** How long a mailed link to set a new password works. */
  resetLinkMinutes: number;
  /** The folder of the build, with a slash at the end. By default that of packages/console. */
  built?: URL;
};

const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));
export const consoleFolder = new URL('.', import.meta.resolve('@castellan/console/dist/app.html'));

/** The operator's accent color, as a style sheet. */
export const COLORS = '/brand/colors.css';
/** As on the sign-in page, in pixels. */
const SIGN_IN_LOGO_HEIGHT = 36;

/** Returns null if the console is not built. */
export function readBuilt(built: URL, name: string): string | null {
  try {
    return readFileSync(new URL(name, built), 'utf8');
  } catch {
    return null;
  }
}

/** Fills in what the pages know about the service. Their files are below the path of PUBLIC_URL. */
export function readPage(
  built: URL,
  file: string,
  url: string,
  { settings, logo, resetLinkMinutes }: ConsoleDeps,
): StaticText | undefined {
  const { serviceName, publicUrl, appUrl, forgotUrl, basePath, language, selfDeletionDays } = settings;
  const source = readBuilt(built, file);
  if (source === null) return undefined;
  const values = {
    service_name: serviceName,
    // Sections of the page: shown if not empty.
    login: url === '/login' ? 'yes' : '',
    logo: logo ? 'yes' : '',
    logo_width: logo?.ratio ? String(Math.round(SIGN_IN_LOGO_HEIGHT * logo.ratio)) : '',
    own_mark: logo ? '' : 'yes',
    page_settings: JSON.stringify({
      serviceName,
      issuer: publicUrl,
      basePath,
      appUrl: appUrl ?? null,
      forgotUrl: forgotUrl ?? null,
      hasLogo: logo !== undefined,
      logoRatio: logo?.ratio ?? null,
      language,
      resetLinkMinutes,
      selfDeletionDays,
      version: manifest.version,
    }),
  };
  const page = source.replaceAll(/(src|href)="\.\//g, `$1="${basePath}/`);
  // After the style sheets of the build, which have our own colors.
  const colors = `<link rel="stylesheet" href="${basePath}${COLORS}">`;
  const filled = compileTemplate(page, 'html', Object.keys(values))(values);
  return createStaticText(
    'text/html',
    filled
      .replace('<html lang="en">', `<html lang="${language}">`)
      .replace('</head>', () => `${colors}\n</head>`),
  );
}

export const notBuilt = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>The console is not built</title></head>
<body><h1>The console is not built</h1>
<p>Run <code>npm ci &amp;&amp; npm run build</code> where the service is installed, then start it again.
The API works without it.</p></body>
</html>
`;
