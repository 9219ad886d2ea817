// Mail templates: text with {{placeholders}}, and {{#sections}} and {{^sections}} that appear if a value is not empty,
// or is empty (a subset of Mustache).
// It must not know a mail: the caller defines the placeholders.

type Values = Readonly<Record<string, string>>;
/** Fills in a template. Escapes the values as the kind of the template requires. */
export type TextTemplate = (values: Values) => string;

export type TemplateKind = 'text' | 'html';

/** A template that cannot be used; `line` counts from 1. */
export class TemplateError extends Error {
  override name = 'TemplateError';
  readonly line: number;
  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

type Part = string | { name: string } | { section: string; isInverted: boolean; parts: Part[] };

/**
 * Compiles a template: `{{name}}` is the value, `{{#name}}…{{/name}}` appears only if the value is not empty,
 * `{{^name}}…{{/name}}` only if it is. Throws TemplateError for an unknown name, an unclosed section, and opening braces
 * that belong to neither.
 */
export function compileTemplate(source: string, kind: TemplateKind, names: readonly string[]): TextTemplate {
  const parts = parse(source, names);
  const shown = kind === 'html' ? escapeHtml : oneLine;
  const write = (some: readonly Part[], values: Values): string =>
    some
      .map((part) => {
        if (typeof part === 'string') return part;
        if ('name' in part) return shown(values[part.name] ?? '');
        const isEmpty = (values[part.section] ?? '') === '';
        return isEmpty === part.isInverted ? write(part.parts, values) : '';
      })
      .join('');
  return (values) => write(parts, values);
}

function parse(source: string, names: readonly string[]): Part[] {
  const root: Part[] = [];
  const open: { name: string; tag: string; line: number; into: Part[] }[] = [];
  let into = root;
  let line = 1;
  // The pieces with an odd index are tags: the text between the braces.
  const pieces = source.split(/\{\{([^{}]*)\}\}/);
  for (const [at, piece] of pieces.entries()) {
    if (at % 2 === 0) {
      requireNoBraces(piece, line, at < pieces.length - 1);
      into.push(piece);
      line += piece.split('\n').length - 1;
      continue;
    }
    const [, sign, name = ''] = /^\s*([#^/]?)\s*([a-z_]+)\s*$/.exec(piece) ?? [];
    if (!names.includes(name))
      throw new TemplateError(line, `unknown placeholder {{${piece}}}; use ${names.join(', ')}`);
    if (sign === '#' || sign === '^') {
      const section: Part = { section: name, isInverted: sign === '^', parts: [] };
      into.push(section);
      open.push({ name, tag: `{{${sign}${name}}}`, line, into });
      into = section.parts;
    } else if (sign === '/') {
      const last = open.pop();
      if (last?.name !== name)
        throw new TemplateError(line, `{{/${name}}} closes no open section {{#${name}}}`);
      into = last.into;
    } else into.push({ name });
  }
  const unclosed = open.at(-1);
  if (unclosed) throw new TemplateError(unclosed.line, `section ${unclosed.tag} is never closed`);
  return root;
}

/**
 * Throws for opening braces outside tags, such as `{{{name}}}`. Closing braces are allowed: style sheets have several
 * in a row.
 */
function requireNoBraces(text: string, line: number, isBeforeTag: boolean): void {
  const stray = (isBeforeTag ? /\{\{|\{$/ : /\{\{/).exec(text);
  if (stray)
    throw new TemplateError(
      line + text.slice(0, stray.index).split('\n').length - 1,
      'an opening brace belongs to no placeholder',
    );
}

/** Replaces line breaks and control characters, which could begin a new header or line. */
const oneLine = (value: string): string => value.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ');

const escapeHtml = (value: string): string =>
  oneLine(value)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
