import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { assertLinear } from '@castellan/testing/linear-time';
import { SettingsError } from '../../platform/config/config.ts';
import { loadLogo } from './logo.ts';
import { svgProblem } from './svg-check.ts';

const root = mkdtempSync(join(tmpdir(), 'logo-'));
after(() => rmSync(root, { recursive: true }));

const png = Buffer.concat([
  Buffer.from('89504e470d0a1a0a0000000d', 'hex'),
  Buffer.from('IHDR'),
  Buffer.alloc(13),
]);
const webp = Buffer.concat([Buffer.from('RIFF\x10\0\0\0WEBPVP8L', 'latin1'), Buffer.alloc(8)]);
const svg = (inside: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8">${inside}</svg>`;

function fileWith(content: string | Buffer, name = 'logo.bin'): string {
  const path = join(mkdtempSync(join(root, 'at-')), name);
  writeFileSync(path, content);
  return path;
}

const refusal = (path: string): string => {
  try {
    loadLogo(path);
  } catch (error) {
    assert.ok(error instanceof SettingsError);
    assert.equal(error.problems.length, 1);
    return error.problems[0] ?? '';
  }
  return assert.fail('the file was accepted');
};

test('the content decides the type, whatever the name is', () => {
  assert.equal(loadLogo(undefined), undefined);
  for (const [content, type] of [
    [png, 'image/png'],
    [webp, 'image/webp'],
    [Buffer.from(svg('<path d="M0 0h8v8z"/>')), 'image/svg+xml'],
  ] as const) {
    const { contentType, bytes } = loadLogo(fileWith(content, 'logo.gif')) ?? {};
    assert.deepEqual({ contentType, bytes }, { contentType: type, bytes: content });
  }
});

test('the ratio of width and height comes from the file, and is null if it tells none', () => {
  const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
  const riff = (format: string, rest: string): Buffer =>
    Buffer.concat([Buffer.from(`RIFF\x10\0\0\0WEBP${format}\x0a\0\0\0`, 'latin1'), hex(rest)]);
  const root = (attributes: string): string => `<svg xmlns="http://www.w3.org/2000/svg" ${attributes}></svg>`;
  for (const [content, ratio] of [
    [Buffer.concat([png.subarray(0, 16), hex('00000078 00000028 0806000000')]), 3],
    [riff('VP8X', '00000000 770000 270000'), 3],
    [riff('VP8 ', '000000 9d012a 7800 2800'), 3],
    [riff('VP8L', '2f 77c00900 0000000000'), 3],
    [png, null],
    [png.subarray(0, 20), null],
    [webp, null],
    [root('viewBox="0 0 120 40"'), 3],
    [root("viewBox='0,0,120,40' width='100%' height='100%'"), 3],
    [root('width="60px" height="30" viewBox="0 0 120 40"'), 2],
    [root('stroke-width="3" width="60" height="30"'), 2],
    [root('width="60mm" height="30mm" viewBox="0 0 120 40"'), 2],
    [root('width="1in" height="48" viewBox="0 0 120 40"'), 2],
    [root('aria-label="a > b" width="60" height="30" viewBox="0 0 120 40"'), 2],
    [`<!-- <svg width="9" height="9"> -->${root('width="60" height="30"')}`, 2],
    ['<s:svg xmlns:s="http://www.w3.org/2000/svg" width="60" height="30"/>', 2],
    [root('width="60" viewBox="0 0 120 40"'), 3],
    [root('width="6em" height="30" viewBox="0 0 120 40"'), null],
    [root('viewBox="0 0 -120 -40"'), null],
    [root('width="-60" height="-30"'), null],
    [root('viewBox="0 0 Infinity 1"'), null],
    [root(''), null],
    [root('viewBox="0 0 9000 1"'), null],
  ] as const)
    assert.equal(loadLogo(fileWith(content))?.ratio, ratio, content.toString('latin1'));
});

test('another file, a large one, a folder and a missing one are refused with what to do', () => {
  for (const [path, expected] of [
    [fileWith('GIF89a', 'logo.png'), /logo\.png\) is not an SVG, PNG or WebP file; export the logo/],
    [fileWith('', 'logo.svg'), /is not an SVG, PNG or WebP file/],
    [fileWith('<html><svg/></html>'), /is not an SVG, PNG or WebP file/],
    [fileWith(Buffer.from(svg(''), 'utf16le')), /is not an SVG, PNG or WebP file/],
    [fileWith(Buffer.concat([png, Buffer.alloc(256 * 1024)])), /has 257 KiB; use a file of at most 256 KiB/],
    [join(root, 'missing.svg'), /missing\.svg\) cannot be read \(ENOENT.*; correct the path/],
  ] as const)
    assert.match(refusal(path), expected);
  mkdirSync(join(root, 'folder'));
  assert.match(refusal(join(root, 'folder')), /LOGO_FILE \(.*folder\) cannot be read \(it is not a file\)/);
});

for (const [what, text] of [
  ['a plain drawing', svg('<path d="M0 0"/>')],
  [
    'a declaration, a comment and a byte order mark',
    `\uFEFF<?xml version="1.0" encoding="UTF-8"?>\n<!-- a > b -->${svg('')}\n`,
  ],
  [
    'the document type of old editors',
    `<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">${svg('')}`,
  ],
  [
    'references inside the file',
    svg('<g id="a"/><use href="#a"/><path fill="url(#b)" style="filter:url(\'#c\')"/>'),
  ],
  ['a raster picture inside', svg('<image href="data:image/png;base64,iVBORw0KGgo="/>')],
  ['a style sheet', svg('<style><![CDATA[.a{fill:url(#b)}]]></style><style>.b{fill:#fff}</style>')],
  [
    'attributes of other namespaces',
    '<s:svg xmlns:s="http://www.w3.org/2000/svg" xmlns:i="urn:i" i:file="C:\\x (1)"><s:g/></s:svg>',
  ],
  [
    'prefixes that end with their element',
    svg(
      '<s:g xmlns:s="http://www.w3.org/2000/svg"><s:g xmlns:s="http://www.w3.org/2000/svg" xmlns="urn:i"/><path/><s:path/></s:g>',
    ),
  ],
  [
    'an animation of a colour',
    svg('<rect><animate attributeName="fill" values="red;blue" dur="1s"/></rect>'),
  ],
] as const)
  test(`an SVG with ${what} is accepted`, () => {
    assert.equal(loadLogo(fileWith(text))?.contentType, 'image/svg+xml');
  });

for (const [inside, problem] of [
  ['<script>alert(1)</script>', /\) contains a script; export it as a plain SVG/],
  ['<x:SCRIPT xmlns:x="http://www.w3.org/2000/svg"/>', /contains a script/],
  ['<path onload="alert(1)"/>', /contains an event handler \(onload\)/],
  ["<path\nONCLICK = 'x'/>", /contains an event handler \(ONCLICK\)/],
  ['<foreignObject><p/></foreignObject>', /contains a foreignObject element/],
  ['<image href="https://example.com/a.png"/>', /refers to another file or address/],
  ['<image xlink:href="//example.com/a.png"/>', /refers to another file/],
  ['<use href="other.svg#a"/>', /refers to another file/],
  ['<h:img xmlns:h="http://www.w3.org/1999/xhtml" srcset="https://example.com/a.png"/>', /refers to another/],
  ['<h:td xmlns:h="http://www.w3.org/1999/xhtml" background="a.png"/>', /refers to another file/],
  ['<image href="data:image/svg+xml,&lt;svg/>"/>', /refers to another file/],
  ['<a href="javascript:alert(1)"><path/></a>', /refers to another file/],
  ['<a href=" &#106;avascript:alert(1)"/>', /refers to another file/],
  ['<g xml:base="https://example.com/"/>', /refers to another file/],
  ['<path fill="url(https://example.com/#a)"/>', /refers to another file/],
  ['<path style="fill:url( \'&#x2F;/example.com\')"/>', /refers to another file/],
  ['<style>@import "a.css";</style>', /refers to another file/],
  ['<style>.a{fill:u<!-- -->rl(//example.com)}</style>', /refers to another file/],
  ['<style>.a{fill:u<![CDATA[rl(//example.com)]]>}</style>', /refers to another file/],
  ['<style>.a{content:"/*";fill:url(//example.com);b:"*/"}</style>', /refers to another file/],
  ['<style>.a{background:image-set("//example.com" 1x)}</style>', /refers to another file/],
  ['<style>@\\69mport "//example.com";</style>', /contains a backslash in a style/],
  ['<style>.a{fill:u\\rl(//example.com)}</style>', /contains a backslash in a style/],
  ['<style><g/></style>', /contains an element inside a style sheet/],
  [
    '<a><set attributeName="xlink:href" to="javascript:alert(1)"/></a>',
    /contains an animation of a reference/,
  ],
  ['<path><animate attributeName="onclick" values="x"/></path>', /contains an animation of a reference/],
  [
    '<i:meta xmlns:i="urn:i"/>',
    /contains an element that is not one of SVG \(i:meta\); export it as a plain SVG/,
  ],
  ['<p xmlns="http://www.w3.org/1999/xhtml"/>', /not one of SVG \(p\)/],
  ['<g xmlns:h="http://www.w3.org/1999/xhtml"><h:form/></g>', /not one of SVG \(h:form\)/],
  ['<g xmlns:s="http://www.w3.org/2000/svg"><s:g xmlns:s="urn:i"/></g>', /not one of SVG \(s:g\)/],
  ['<s:g xmlns:s="http://www.w3.org/2000/svg"/><s:g/>', /not one of SVG \(s:g\)/],
  ['<g xmlns="http://www.w3.org/2000/SVG"/>', /not one of SVG \(g\)/],
  ['<g xmlns=""/>', /not one of SVG \(g\)/],
  ['<undeclared:g/>', /not one of SVG \(undeclared:g\)/],
  ['<path', /is not well-formed XML/],
  ['<g></path>', /is not well-formed XML/],
  ['<path d=x/>', /is not well-formed XML/],
  ['<path d="a"e="b"/>', /is not well-formed XML/],
  ['<!-- never closed', /is not well-formed XML/],
  ['</svg><svg>', /is not well-formed XML/],
  ['<?xml-stylesheet href="a.css"?>', /has a processing instruction/],
] as const)
  test(`an SVG with ${inside.slice(0, 60)} is refused by name`, () => {
    assert.match(refusal(fileWith(svg(inside))), problem);
  });

for (const [before, problem] of [
  ['<!DOCTYPE svg [<!ENTITY a "b">]>', /has a document type with declarations/],
  ['<?xml version="1.0" encoding="UTF-7"?>', /is not in UTF-8/],
  ['<?xml-stylesheet href="a.css"?>', /has a processing instruction/],
] as const)
  test(`an SVG that begins with ${before} is refused`, () => {
    assert.match(svgProblem(`${before}${svg('')}`) ?? '', problem);
  });

for (const piece of [
  '<a',
  '<a b=" url("/>',
  '<style>url(',
  '<!--',
  '<a>',
  'url( url',
  '&#x',
  "'\"<a b='",
  '<![CDATA[',
  '<s:g xmlns:s="http://www.w3.org/2000/svg">',
  '<g xmlns:s="http://www.w3.org/2000/svg" xmlns="http://www.w3.org/2000/svg"/>',
])
  test(`many times ${piece} is read in linear time`, () => {
    const read = (size: number) => {
      const many = piece.repeat(size);
      for (const inside of [many, `<style>${many}</style>`, `<path style='${many.replaceAll("'", '')}'/>`])
        assert.notEqual(svgProblem(svg(inside)), '');
    };
    assertLinear(piece, read, 4_000);
  });
