// Reads the browser, the system and the kind of device from a User-Agent header, as far as people can recognize them.
// It must not be used to decide anything: anybody can send any User-Agent.

export type Device = {
  /** Such as "Firefox 144"; null if unknown. */
  browser: string | null;
  /** Such as "Windows"; null if unknown. */
  system: string | null;
  kind: 'desktop' | 'phone' | 'tablet' | 'program';
};

/** Most browsers also name those that they descend from, so the order decides. */
const browsers: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['Edge', /\bEdg(?:e|A|iOS)?\/(\d+)/],
  ['Opera', /\b(?:OPR|OPiOS|Opera)\/(\d+)/],
  ['Samsung Internet', /\bSamsungBrowser\/(\d+)/],
  ['Vivaldi', /\bVivaldi\/(\d+)/],
  ['Firefox', /\b(?:Firefox|FxiOS)\/(\d+)/],
  ['Chrome', /\b(?:HeadlessChrome|Chrome|CriOS)\/(\d+)/],
  ['Safari', /\bVersion\/(\d+)[\d.]* (?:Mobile\/\w+ )?Safari\//],
];

const systems: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['iPadOS', /\biPad\b/],
  ['iOS', /\b(?:iPhone|iPod)\b/],
  ['Android', /\bAndroid\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac(?:intosh| OS X)\b/],
  ['Linux', /\b(?:Linux|X11)\b/],
];

/** Returns "curl 8.5" for "curl/8.5.0" and "node" for "node"; null for a text without a product. */
function programOf(userAgent: string): string | null {
  if (/^[A-Za-z][\w.-]{0,40}$/.test(userAgent)) return userAgent;
  const found = /^([A-Za-z][\w .-]{0,40}?)\/(\d+(?:\.\d+)?)/.exec(userAgent);
  return found ? `${found[1]} ${found[2]}` : null;
}

function kindOf(userAgent: string, system: string | null): Device['kind'] {
  if (system === null) return 'program';
  if (system === 'iPadOS' || /\bTablet\b/.test(userAgent)) return 'tablet';
  if (system === 'Android') return /\bMobile\b/.test(userAgent) ? 'phone' : 'tablet';
  return system === 'iOS' ? 'phone' : 'desktop';
}

/** Returns what is known about the device; null for a session without a User-Agent. */
export function deviceOf(userAgent: string | null): Device | null {
  const text = userAgent?.trim() ?? '';
  if (text === '') return null;
  const system = systems.find(([, pattern]) => pattern.test(text))?.[0] ?? null;
  for (const [name, pattern] of browsers) {
    const version = pattern.exec(text)?.[1];
    if (version) return { browser: `${name} ${version}`, system, kind: kindOf(text, system) };
  }
  const program = text.startsWith('Mozilla/') ? null : programOf(text);
  return { browser: program, system, kind: program ? 'program' : kindOf(text, system) };
}
