// How Mantine's components look: the operator's accent color, and pairs of colors with a contrast of 4.5:1 or more.
// It must not style our own elements: that is app.css.
import {
  type CSSVariablesResolver,
  createTheme,
  defaultVariantColorsResolver,
  type MantineColorsTuple,
} from '@mantine/core';

// Only the variables below are used of it; the tuple itself gives Mantine the name of the color.
const accent: MantineColorsTuple = [
  '#eef2ff',
  '#dbe4ff',
  '#bac8ff',
  '#91a7ff',
  '#748ffc',
  '#5c7cfa',
  '#4c6ef5',
  '#4263eb',
  '#3b5bdb',
  '#364fc7',
];

export const theme = createTheme({
  colors: { accent },
  primaryColor: 'accent',
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  fontFamily: 'Inter, system-ui, -apple-system, "Segoe UI", Roboto, sans-serif',
  fontFamilyMonospace: 'ui-monospace, "JetBrains Mono", Menlo, Consolas, monospace',
  fontSizes: { xs: '0.78rem', sm: '0.875rem' },
  headings: { fontWeight: '650' },
  variantColorResolver: (input) => {
    const { color = input.theme.primaryColor, variant } = input;
    if (color === 'accent' && variant === 'filled')
      return {
        background: 'var(--accent)',
        hover: 'var(--accent-hover)',
        color: 'var(--accent-contrast)',
        border: '1px solid transparent',
      };
    return defaultVariantColorsResolver(input);
  },
  components: {
    Button: { defaultProps: { size: 'sm' } },
    // A dialog's heading is not the header of the page.
    Modal: { defaultProps: { attributes: { header: { role: 'none' } }, centered: true } },
    Tooltip: {
      defaultProps: { openDelay: 250, multiline: true, events: { hover: true, focus: true, touch: true } },
    },
  },
});

type Pairs = Readonly<Record<string, readonly [background: string, text: string]>>;

const softLight: Pairs = {
  teal: ['#dcf7ec', '#05603f'],
  gray: ['#edeff3', '#434a55'],
  yellow: ['#fff0bd', '#6b4000'],
  red: ['#ffe6e6', '#9f1a1a'],
  blue: ['#e1effe', '#12508f'],
};
const softDark: Pairs = {
  teal: ['#103d30', '#82e9c8'],
  gray: ['#383d45', '#d6dae0'],
  yellow: ['#443408', '#ffdb66'],
  red: ['#4b1f23', '#ffb8b8'],
  blue: ['#173a5b', '#a9d5ff'],
};

const asVariables = (pairs: Pairs): Record<string, string> =>
  Object.fromEntries(
    Object.entries(pairs).flatMap(([name, [background, text]]) => [
      [`--mantine-color-${name}-light`, background],
      [`--mantine-color-${name}-light-hover`, background],
      [`--mantine-color-${name}-light-color`, text],
    ]),
  );

const accentVariables = {
  '--mantine-color-accent-filled': 'var(--accent)',
  '--mantine-color-accent-filled-hover': 'var(--accent-hover)',
  '--mantine-color-accent-light': 'var(--accent-soft)',
  '--mantine-color-accent-light-hover': 'var(--accent-soft)',
  '--mantine-color-accent-light-color': 'var(--accent-soft-text)',
  '--mantine-color-accent-outline': 'var(--accent-text)',
  '--mantine-color-accent-text': 'var(--accent-text)',
  '--mantine-primary-color-contrast': 'var(--accent-contrast)',
  '--mantine-color-anchor': 'var(--accent-text)',
};

export const resolveVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    ...accentVariables,
    ...asVariables(softLight),
    '--mantine-color-dimmed': '#566070',
    '--mantine-color-placeholder': '#69717d',
    '--mantine-color-error': '#b02318',
    '--mantine-color-red-filled': '#c1241c',
    '--mantine-color-red-filled-hover': '#a41d16',
  },
  dark: {
    ...accentVariables,
    ...asVariables(softDark),
    '--mantine-color-dimmed': '#abb1bb',
    '--mantine-color-placeholder': '#9ca3ae',
    '--mantine-color-error': '#ff9d9d',
    '--mantine-color-red-filled': '#c6302a',
    '--mantine-color-red-filled-hover': '#ad241f',
  },
});
