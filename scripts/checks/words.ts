// Reports words that make prose hard to read, each with its line and a better word. Prints nothing when there are none.
// It must not judge style: only words that are wrong wherever they appear. docs/glossary.md lists the terms to use.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

export type Finding = { line: number; found: string; better: string };

/** Words that have a better one in every sentence. */
const words: readonly [pattern: RegExp, better: string][] = [
  [/\bdeeds?\b/i, 'change, action or request'],
  [/\bways? in\b(?! (?:which|what|that)\b)/i, 'access, sign-in or entry point'],
  [/\bwhat it asks of\b/i, 'what it requires'],
  [/\bas much as somebody else\b/i, 'the permissions that the user holds'],
  [/\b(?:of theirs|of his|of hers)\b/i, 'their'],
  [/\b(?:he|him|his|himself|she|hers|herself)\b/i, 'they, their, or the noun'],
  [/\b(?:siege|besieged|under siege)\b/i, 'attack or load'],
  [/\bstorms?\b/i, 'burst or flood'],
  [/\be-mails?\b/i, 'email (the address) or mail (the message)'],
  [/\bback-ups?\b/i, 'backup'],
  [/\btime-outs?\b/i, 'timeout'],
  [/\bpresent state\b/i, 'current state'],
  [/\bst(?:ands?|anding|ood) in\b(?! (?:for|front|(?:its|the|their) way)\b)/i, 'is in'],
  // Errors, links and pages lead somewhere; names and addresses do not.
  [
    /\b(?:address(?:es)?|connections?|hosts?|names?|proxy|roles?|URLs?)(?: (?!an?\b|the\b)\w+){0,3} leads? to\b(?! (?:an? )?(?:errors?|failures?|retry)\b)/i,
    'points to, resolves to or grants',
  ],
  // What is in addition to something. What is next to something is beside it.
  [/\b(?:also|alone|anything|depends on|else|everything|nothing|others?|permissions?) beside\b/i, 'besides'],
  // "Meanwhile, …" begins a sentence.
  [/\bmeanwhile\b|\bMeanwhile\b(?!,)/, 'in the meantime, by then or while …'],
  [/\bany more\b(?! than\b| [a-z]+s\b)/i, 'no longer'],
  [/\bthe own\b/i, "your own, their own or the caller's"],
  [
    /\ban? (?:[\w`/-]+ ){1,3}of (?:its|my|our|their|your) own\b(?! accord\b| origin\b)/i,
    'its own, their own, a separate or a dedicated …',
  ],
  [/\bwho(?:so)?ever\b/i, 'anyone who, or the noun'],
  [/\ban? (?:[\w-]+ ){1,2}of (?:ours|yours)\b/i, 'your …, our … or one of your …'],
];

/** Where a word is allowed: a file, and the text around the word. */
const exceptions: readonly [file: string, text: string][] = [
  // Names the word that it replaces.
  ['docs/glossary.md', 'never "e-mail"'],
  // Stored in databases at their creation.
  ['packages/server/src/modules/seed/service.ts', "self: 'The own account'"],
  ['packages/server/src/modules/seed/service.ts', "description: 'Takes care of the own account'"],
  // Error texts that operators may search for.
  ['packages/server/src/modules/backup/write.ts', 'The schema was migrated meanwhile.'],
];

/** Files that are checked in full; in code only comments, messages and test names are. */
const prose = /\.(md|html|txt)$/;
const checked = [
  /^[A-Z]+\.md$/,
  /^(?:docs|bench)\/.*\.md$/,
  /^packages\/[^/]+\/README\.md$/,
  // German texts of the console follow German spelling.
  /^packages\/[^/]+\/src\/(?!.*\/messages\/de\/).*\.(tsx?|js|html|txt)$/,
  /^packages\/[^/]+\/test\/.*\.test\.ts$/,
  // Scripts, except the list of words itself.
  /^(?:bench|deploy|examples|scripts)\/(?!.*\.test\.|checks\/words\.).*\.(ts|mjs)$/,
];
/** Files in which only the test names are checked. */
const test = /^packages\/[^/]+\/test\//;

// Not checked in pages: anchors are made from headings, and code is spelled as it must be.
const linkTarget = /\]\([^)]*\)/g;
const code = /`[^`]*`/g;

// Includes the previous line, because a long name is on a line of its own.
const testName = /^\s*(?:test|describe|scenario)\(\n?\s*([`'"])(.*?)\1/m;
const comment = /(?:^|\s)\/\/ (.*)$|^\s*\/?\*+ (.*)$/;
// A text of two words or more is a message; a single word is a key or a name.
const message = /(['"`])((?:(?!\1).)*[A-Za-z] [A-Za-z](?:(?!\1).)*)\1/g;

/** Returns the prose in a line of code: its comment or its messages. */
function readable(line: string): string {
  const commented = comment.exec(line);
  if (commented) return commented[1] ?? commented[2] ?? '';
  return [...line.matchAll(message)].map(([, , text = '']) => text).join(' ');
}

/** Returns the name of the test that begins on `line`, or on the line before it if that ends with a bracket; else ''. */
function nameOfTest(before: string, line: string): string {
  const [, , name = ''] = testName.exec(/\($/.test(before) ? `${before}\n${line}` : line) ?? [];
  return name;
}

/** Returns the findings of a file in the order of its lines. `path` is relative to the repository. */
export function findWords(path: string, text: string): Finding[] {
  const excepted = exceptions.filter(([file]) => file === path).map(([, text]) => text);
  let isExample = false;
  return text.split('\n').flatMap((line, index, lines) => {
    if (prose.test(path) && line.startsWith('```')) isExample = !isExample;
    if (isExample || excepted.some((text) => line.includes(text))) return [];
    const shown = prose.test(path)
      ? line.replace(linkTarget, ']').replace(code, '')
      : test.test(path)
        ? nameOfTest(lines[index - 1] ?? '', line)
        : readable(line);
    return words.flatMap(([pattern, better]) => {
      const [found] = pattern.exec(shown) ?? [];
      return found === undefined ? [] : [{ line: index + 1, found, better }];
    });
  });
}

/** Texts in other languages. */
const foreign = /\/mail-templates\/[\w-]+\.(?!en\.)[a-z]{2}\.[\w.]+$/;

export const isChecked = (path: string): boolean =>
  !foreign.test(path) && checked.some((pattern) => pattern.test(path));

if (import.meta.main) {
  const root = new URL('../..', import.meta.url);
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  });
  for (const path of files.split('\n').filter(isChecked))
    for (const { line, found, better } of findWords(path, readFileSync(new URL(path, root), 'utf8'))) {
      process.stderr.write(`${path}:${line}: "${found}": write ${better}\n`);
      process.exitCode = 1;
    }
}
