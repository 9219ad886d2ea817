// Judges whether an SVG file is a still picture: no element but those of SVG, no script, no event handler, no reference to
// anything outside the file.
// It must not repair a file: its author exports it again.

/** Elements that run code, embed other documents or change attributes later. Names without prefix, in lower case. */
const refusedElements: Readonly<Record<string, string>> = {
  script: 'contains a script',
  handler: 'contains a script',
  listener: 'contains a script',
  foreignobject: 'contains a foreignObject element, which may embed other documents',
  iframe: 'contains an iframe element, which embeds another document',
  object: 'contains an object element, which embeds another document',
  embed: 'contains an embed element, which embeds another document',
  audio: 'contains an audio element',
  video: 'contains a video element',
  link: 'contains a link element, which loads another file',
};

const animations: readonly string[] = ['animate', 'animatetransform', 'animatemotion', 'animatecolor', 'set'];

/** Attributes that name what is loaded or opened. */
const references: readonly string[] = [
  'href',
  'src',
  'srcset',
  'poster',
  'background',
  'data',
  'action',
  'formaction',
  'base',
];

// A part of the file itself, or a raster picture inside it.
const isOwn = (reference: string): boolean =>
  reference === '' || reference.startsWith('#') || /^data:image\/(png|jpeg|gif|webp)[;,]/i.test(reference);

const EXTERNAL = 'refers to another file or address';
const MALFORMED = 'is not well-formed XML';

/** Whether the text begins as an SVG file does, after the declaration, comments and a document type. */
export const looksLikeSvg = (text: string): boolean =>
  /^\s*<(\?xml|!--|!doctype\s+svg|svg[\s/>]|[\w.-]+:svg[\s/>])/i.test(text);

/**
 * Returns what is wrong with the SVG, as the middle of a sentence; null if it is a still picture. Refuses what it does
 * not understand: document types with content, processing instructions, and anything that is not well-formed. Takes
 * time linear in the length of the text.
 */
export function svgProblem(text: string): string | null {
  const open: Tag[] = [];
  const namespaces = createNamespaces();
  let isRootSeen = false;
  // Comments and CDATA sections split the text of a style sheet, so it is judged as a whole.
  let style = '';
  let at = 0;
  while (at < text.length) {
    const start = text.indexOf('<', at);
    const between = text.slice(at, start === -1 ? text.length : start);
    if (open.length === 0 && between.trim() !== '') return MALFORMED;
    if (isStyle(open.at(-1)?.name)) style += decoded(between);
    if (start === -1) break;
    const skipped = skip(text, start, isRootSeen);
    if (skipped !== null) {
      if (skipped.problem !== null) return skipped.problem;
      if (isStyle(open.at(-1)?.name)) style += skipped.content;
      at = skipped.end;
      continue;
    }
    const tag = readTag(text, start);
    if (tag === null) return MALFORMED;
    at = tag.end;
    if (tag.isEnd) {
      const begun = open.pop();
      if (begun?.name !== tag.name) return MALFORMED;
      namespaces.leave(begun);
      const problem = isStyle(tag.name) ? cssProblem(style) : null;
      if (problem !== null) return problem;
      style = '';
      continue;
    }
    const local = localName(tag.name);
    if (open.length === 0 && isRootSeen) return MALFORMED;
    if (!isRootSeen && local !== 'svg') return 'is not an SVG file';
    if (isStyle(open.at(-1)?.name)) return 'contains an element inside a style sheet';
    isRootSeen = true;
    const problem = refusedElements[local] ?? attributesProblem(local, tag.attributes);
    if (problem !== null) return problem;
    namespaces.enter(tag);
    if (namespaces.of(tag) !== SVG)
      return `contains an element that is not one of SVG (${tag.name.slice(0, 40)})`;
    if (tag.isEmpty) namespaces.leave(tag);
    else open.push(tag);
  }
  return isRootSeen && open.length === 0 ? null : MALFORMED;
}

/** Returns the attributes of the root element by name. Only for a text that `svgProblem` accepts. */
export function rootAttributes(text: string): ReadonlyMap<string, string> {
  let start = text.indexOf('<');
  for (let skipped = skip(text, start, false); skipped !== null; skipped = skip(text, start, false))
    start = text.indexOf('<', skipped.end);
  const tag = start === -1 ? null : readTag(text, start);
  return new Map(tag?.attributes.map(({ name, value }) => [name, value]));
}

const SVG = 'http://www.w3.org/2000/svg';

/** Follows which namespace each prefix stands for (Namespaces in XML 1.0, 6). The empty prefix is the default. */
function createNamespaces() {
  // Every call takes time for the declarations of its tag alone, whatever the depth.
  const uris = new Map<string, string[]>();
  const declared = ({ attributes }: Tag): [prefix: string, uri: string][] =>
    attributes.flatMap(({ name, value }) => {
      const [, prefix = ''] = /^xmlns(?::(.+))?$/.exec(name) ?? [undefined, null];
      return prefix === null ? [] : [[prefix, value]];
    });
  return {
    enter(tag: Tag): void {
      for (const [prefix, uri] of declared(tag)) {
        const known = uris.get(prefix);
        if (known) known.push(uri);
        else uris.set(prefix, [uri]);
      }
    },
    leave(tag: Tag): void {
      for (const [prefix] of declared(tag)) uris.get(prefix)?.pop();
    },
    of({ name }: Tag): string | undefined {
      return uris.get(name.slice(0, Math.max(0, name.lastIndexOf(':'))))?.at(-1);
    },
  };
}

const isStyle = (name: string | undefined): boolean => name !== undefined && localName(name) === 'style';

/** `content`: what the skipped part adds to the text around it. */
type Skipped = { end: number; content: string; problem: string | null };

// Without declarations of its own. Browsers do not load the named file.
const PLAIN_DOCTYPE = /<!doctype\s+svg(?:\s+public\s+"-\/\/W3C\/\/DTD SVG [^"<>]*"\s+"[^"<>]*")?\s*>/iy;

/** Skips a comment, a CDATA section, the XML declaration or the document type. Returns null at a tag. */
function skip(text: string, start: number, isRootSeen: boolean): Skipped | null {
  if (text.startsWith('<!--', start)) return { ...skipTo(text, start + 4, '-->'), content: '' };
  if (text.startsWith('<![CDATA[', start)) return skipTo(text, start + 9, ']]>');
  if (text.startsWith('<!', start)) {
    PLAIN_DOCTYPE.lastIndex = start;
    const end = start + (PLAIN_DOCTYPE.exec(text)?.[0].length ?? 0);
    const isPlain = end > start && !isRootSeen;
    return { end, content: '', problem: isPlain ? null : 'has a document type with declarations' };
  }
  if (!text.startsWith('<?', start)) return null;
  const declaration = skipTo(text, start + 2, '?>');
  if (start !== 0 || !/^xml\s/.test(declaration.content))
    return { ...declaration, problem: 'has a processing instruction' };
  const encoding = /encoding\s*=\s*["']([^"']*)["']/i.exec(declaration.content)?.[1] ?? 'utf-8';
  const problem = /^utf-?8$/i.test(encoding) ? declaration.problem : 'is not in UTF-8';
  return { ...declaration, problem };
}

function skipTo(text: string, from: number, end: string): Skipped {
  const found = text.indexOf(end, from);
  return found === -1
    ? { end: text.length, content: text.slice(from), problem: MALFORMED }
    : { end: found + end.length, content: text.slice(from, found), problem: null };
}

type Attribute = { name: string; value: string };
type Tag = { name: string; attributes: Attribute[]; isEnd: boolean; isEmpty: boolean; end: number };

const NAME = /[^\s<>"'=/&]+/y;
const SPACE = /\s*/y;

/** Reads the tag at `start`. Returns null if it is malformed. */
function readTag(text: string, start: number): Tag | null {
  let at = start + 1;
  const take = (pattern: RegExp): string | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0] ?? null;
    if (found !== null) at += found.length;
    return found;
  };
  const isEnd = text[at] === '/';
  if (isEnd) at += 1;
  const name = take(NAME);
  if (name === null) return null;
  const attributes: Attribute[] = [];
  for (;;) {
    const space = take(SPACE) ?? '';
    if (text[at] === '>') return { name, attributes, isEnd, isEmpty: false, end: at + 1 };
    if (text.startsWith('/>', at) && !isEnd) return { name, attributes, isEnd, isEmpty: true, end: at + 2 };
    const key = space === '' || isEnd ? null : take(NAME);
    if (key === null) return null;
    take(SPACE);
    if (text[at] !== '=') return null;
    at += 1;
    take(SPACE);
    const quote = text[at];
    const end = quote === '"' || quote === "'" ? text.indexOf(quote, at + 1) : -1;
    const value = text.slice(at + 1, end);
    if (end === -1 || value.includes('<')) return null;
    attributes.push({ name: key, value: decoded(value) });
    at = end + 1;
  }
}

const localName = (name: string): string => name.slice(name.lastIndexOf(':') + 1).toLowerCase();

function attributesProblem(element: string, attributes: readonly Attribute[]): string | null {
  for (const { name, value } of attributes) {
    const local = localName(name);
    if (name === 'xmlns' || name.startsWith('xmlns:')) continue;
    if (/^on/.test(local)) return `contains an event handler (${name.slice(0, 40)})`;
    if (references.includes(local) && !isOwn(value.trim())) return EXTERNAL;
    // An animation could set a reference or a handler after this check.
    if (
      animations.includes(element) &&
      local === 'attributename' &&
      /href|^on|src/i.test(localName(value.trim()))
    )
      return 'contains an animation of a reference or an event handler';
    // Style attributes and presentation attributes (fill, filter, …) have no prefix.
    const ofStyle = name.includes(':') ? null : cssProblem(value);
    if (ofStyle !== null) return ofStyle;
  }
  return null;
}

/** Judges a style sheet, or an attribute that may hold a piece of one. Comments count as content. */
function cssProblem(css: string): string | null {
  if (/@import|image-set\s*\(|\bsrc\s*\(|\bexpression\s*\(|-moz-binding|javascript\s*:/i.test(css))
    return EXTERNAL;
  if (css.includes('\\') && /[(@]/.test(css))
    return 'contains a backslash in a style, which may hide a reference';
  for (const [, double, single, bare = ''] of css.matchAll(/url\s*\(\s*(?:"([^"]*)"|'([^']*)'|([^)]*))/gi))
    if (!isOwn((double ?? single ?? bare).trim())) return EXTERNAL;
  return null;
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Replaces character references. Others stay: without a document type they are not well-formed, and browsers refuse them. */
const decoded = (value: string): string =>
  value.replace(/&(?:#x([0-9a-f]{1,6})|#([0-9]{1,7})|([a-z]+));/gi, (whole, hex, decimal, name) => {
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    if (name !== undefined) return entities[name] ?? whole;
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
