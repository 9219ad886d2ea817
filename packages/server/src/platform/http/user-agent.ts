// Names the browser and the system of a User-Agent header in words that people recognize.
// It must not be used to decide anything: anybody can send any User-Agent. No text of the header is returned.

export type DescribedUserAgent = {
  /** Such as "Firefox"; null if unknown. */
  browser: string | null;
  /** Such as "Windows"; null if unknown. */
  system: string | null;
};

type Names = readonly (readonly [name: string, pattern: RegExp])[];

// Most browsers also name those that they descend from, so the order decides.
const browsers: Names = [
  ['Edge', /\bEdg(?:e|A|iOS)?\/\d/],
  ['Opera', /\b(?:OPR|OPiOS|OPT|Opera)\/\d/],
  ['Samsung Internet', /\bSamsungBrowser\/\d/],
  ['Vivaldi', /\bVivaldi\/\d/],
  ['DuckDuckGo', /\b(?:Ddg|DuckDuckGo)\/\d/],
  ['Firefox', /\b(?:Firefox|FxiOS)\/\d/],
  ['Chrome', /\b(?:HeadlessChrome|Chrome|CriOS)\/\d/],
  ['Safari', /\bVersion\/\d[\d.]* (?:Mobile\/\w+ )?Safari\//],
];

const systems: Names = [
  ['iPadOS', /\biPad\b/],
  ['iOS', /\b(?:iPhone|iPod)\b/],
  ['Android', /\bAndroid\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac(?:intosh| OS X)\b/],
  ['Linux', /\b(?:Linux|X11)\b/],
];

const nameIn = (names: Names, text: string): string | null =>
  names.find(([, pattern]) => pattern.test(text))?.[0] ?? null;

/** Returns what is known; both null for a session without a User-Agent and for programs. */
export const describeUserAgent = (userAgent: string | null): DescribedUserAgent => ({
  browser: nameIn(browsers, userAgent ?? ''),
  system: nameIn(systems, userAgent ?? ''),
});
