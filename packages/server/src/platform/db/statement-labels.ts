// Names a statement for metrics and traces: by the name that its file gave it, else by its verb and table, such as
// `update users`. A label consists of words of the source code, never of a value.
import { isGeneratedName } from './statement-names.ts';

/** A statement as the driver receives it. */
export type SentStatement = string | { text: string; name?: string | undefined };

// One statement each in the sources; varying texts of lists have few verbs and tables.
const MAX_LABELS = 500;
const MAX_KNOWN_TEXTS = 2_000;

const labels = new Set<string>();
const known = new Map<string, string>();

/** Returns the label of a statement. After 500 different labels, further ones are `other`. */
export function statementLabel(statement: SentStatement): string {
  const { text, name } = typeof statement === 'string' ? { text: statement } : statement;
  if (name !== undefined && !isGeneratedName(name)) return counted(name);
  const seen = known.get(text);
  if (seen !== undefined) return seen;
  const label = counted(describe(text));
  if (known.size < MAX_KNOWN_TEXTS) known.set(text, label);
  return label;
}

function counted(label: string): string {
  if (labels.has(label)) return label;
  if (labels.size >= MAX_LABELS) return 'other';
  labels.add(label);
  return label;
}

const comment = /\/\*[\s\S]*?\*\//g;
// `for update`, `do update` and `no key update` write nothing.
const write = /(?<!\b(?:for|do|key) )\b(insert into|update|delete from) (?:only )?"?([a-z_]+)"?/;
const read = /\bfrom (?:only )?"?([a-z_]+)"?(?![a-z_"(]| \()/g;
const cte = /"?([a-z_]+)"?(?: \([^()]*\))? as (?:not materialized |materialized )?\(/g;
// `from` that names no table: extract(epoch from t), substring(t from n), is distinct from.
const otherFrom = /\b(?:extract|substring|trim|overlay) ?\([^()]*? from |\bdistinct from /g;

/** Returns the verb and the first table that a statement writes or, if it writes none, the first that it reads. */
function describe(text: string): string {
  const plain = text.replace(comment, ' ').replace(/\s+/g, ' ').trim().toLowerCase();
  const written = write.exec(plain);
  if (written) return `${written[1]?.split(' ')[0]} ${written[2]}`;
  const [verb = ''] = /^[a-z]+/.exec(plain) ?? [];
  if (verb !== 'select' && verb !== 'with') return verb === '' ? 'other' : verb;
  const own = new Set([...plain.matchAll(cte)].map(([, name]) => name));
  for (const [, table] of plain.replace(otherFrom, ' ').matchAll(read))
    if (!own.has(table)) return `select ${table}`;
  return 'select';
}
