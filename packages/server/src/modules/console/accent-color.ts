// Computes the colours of pages from one accent colour, so that every pair of colours has the contrast that WCAG 2.2
// requires (1.4.3 for text, 1.4.11 for the focus ring).
// It must not read a setting: the caller passes the colour.

/** 1.4.3: text against its background. */
const TEXT_CONTRAST = 4.5;
/** 1.4.11: the focus ring against the page. */
const RING_CONTRAST = 3;
/** Steps of a move towards black or white: finer than one of the 256 values of a channel. */
const STEPS = 512;

const white = '#ffffff';
/** Text on light accents: the background of dark pages. */
const nearBlack = '#1a1b1e';

type Theme = 'light' | 'dark';

/** The pages that the accent appears on: the body and raised surfaces. `away` is where contrast grows. */
const pages = {
  light: { backgrounds: [white, '#f6f7fb', '#f4f5f8'], away: '#000000', surface: white, tint: 0.12 },
  dark: { backgrounds: [nearBlack, '#242528', '#2c2e32'], away: white, surface: '#242528', tint: 0.2 },
} as const;

/** Shares of black or white in the background of a button under the pointer. The first that is visible is used. */
const hoverShares = [0.14, 0.25, 0.5] as const;
/** Sum of the differences of the three channels, 0 to 765. A smaller difference is hard to see. */
const MIN_HOVER_DISTANCE = 24;

const properties = [
  '--accent',
  '--accent-hover',
  '--accent-contrast',
  '--accent-text',
  '--accent-soft',
  '--accent-soft-text',
  '--accent-ring',
] as const;
type Property = (typeof properties)[number];
type Palette = Readonly<Record<Property, string>>;

/** A use of the accent for which the given colour has too little contrast, with the colour that is used instead. */
type AdjustedColor = { theme: Theme; property: Property; color: string };

export type AccentStyle = {
  /** The content of a `<style>` element: the custom properties of both themes. */
  css: string;
  /** Empty if the colour is used as it is. Most colours are moved as text in one of the themes. */
  adjusted: readonly AdjustedColor[];
};

/** Reads `#rrggbb`. Returns it in lower case. Throws an Error whose message continues a sentence. */
export function parseColor(value: string): string {
  if (!/^#[0-9a-f]{6}$/i.test(value))
    throw new Error(`is "${value}"; write a colour as # and six hexadecimal digits, such as #4263eb`);
  return value.toLowerCase();
}

/** Returns the custom properties for an accent colour, `#rrggbb`. Throws for any other text. */
export function accentStyle(color: string): AccentStyle {
  const given = parseColor(color);
  const light = paletteOf(given, 'light');
  const dark = paletteOf(given, 'dark');
  return {
    css: `:root{${declarations(light)}}\n[data-mantine-color-scheme="dark"]{${declarations(dark)}}\n`,
    adjusted: [...adjustedIn(light, given, 'light'), ...adjustedIn(dark, given, 'dark')],
  };
}

const declarations = (palette: Palette): string =>
  properties.map((property) => `${property}:${palette[property]}`).join(';');

/** Lists the uses of the accent itself. Tints, text on tints and the hover colour always differ from it. */
const adjustedIn = (palette: Palette, given: string, theme: Theme): AdjustedColor[] =>
  (['--accent', '--accent-text', '--accent-ring'] as const)
    .filter((property) => palette[property] !== given)
    .map((property) => ({ theme, property, color: palette[property] }));

function paletteOf(given: string, theme: Theme): Palette {
  const { backgrounds, away, surface, tint } = pages[theme];
  const button = buttonOf(given);
  const soft = mix(surface, given, tint);
  return {
    '--accent': button.background,
    '--accent-hover': button.hover,
    '--accent-contrast': button.text,
    '--accent-text': moved(given, away, backgrounds, TEXT_CONTRAST),
    '--accent-soft': soft,
    '--accent-soft-text': moved(given, away, [soft], TEXT_CONTRAST),
    '--accent-ring': moved(given, away, backgrounds, RING_CONTRAST),
  };
}

/** Returns the colours of a filled button. White text is preferred; a colour between both texts is moved the less far. */
function buttonOf(given: string): { background: string; hover: string; text: string } {
  const forWhite = moved(given, '#000000', [white], TEXT_CONTRAST);
  const forDark = moved(given, white, [nearBlack], TEXT_CONTRAST);
  const isWhite =
    forWhite === given || (forDark !== given && distance(forWhite, given) <= distance(forDark, given));
  const [background, text] = isWhite ? [forWhite, white] : [forDark, nearBlack];
  // Away from the text, where contrast grows; back only if the background is at that end already.
  const [away, back] = isWhite ? ['#000000', white] : [white, '#000000'];
  const outward = hoverShares.map((share) => mix(background, away, share));
  const visible = outward.find((color) => distance(color, background) >= MIN_HOVER_DISTANCE);
  return { background, hover: visible ?? mix(background, back, hoverShares[0]), text };
}

/** Moves a colour towards `target` until it has the contrast to every background, in the smallest step that does. */
function moved(color: string, target: string, backgrounds: readonly string[], minimum: number): string {
  for (let step = 0; step < STEPS; step += 1) {
    const candidate = mix(color, target, step / STEPS);
    if (backgrounds.every((background) => contrast(candidate, background) >= minimum)) return candidate;
  }
  return target;
}

/** Returns the contrast ratio of two colours, 1 to 21 (WCAG 2.2, "contrast ratio"). */
export function contrast(one: string, other: string): number {
  const [darker, lighter] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return ((lighter ?? 0) + 0.05) / ((darker ?? 0) + 0.05);
}

/** Returns the relative luminance, 0 to 1 (WCAG 2.2, "relative luminance"). */
function luminance(color: string): number {
  const [red, green, blue] = channels(color).map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * (red ?? 0) + 0.7152 * (green ?? 0) + 0.0722 * (blue ?? 0);
}

/** Mixes two colours channel by channel. `share`: of the second, 0 to 1. */
function mix(one: string, other: string, share: number): string {
  const added = channels(other);
  const mixed = channels(one).map((value, at) => Math.round(value + ((added[at] ?? 0) - value) * share));
  return `#${mixed.map((value) => value.toString(16).padStart(2, '0')).join('')}`;
}

const distance = (one: string, other: string): number => {
  const others = channels(other);
  return channels(one).reduce((sum, value, at) => sum + Math.abs(value - (others[at] ?? 0)), 0);
};

const channels = (color: string): number[] =>
  [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));
