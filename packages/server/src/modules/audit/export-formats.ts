// The columns of an audit log that is exported as CSV. It must not read the log.
import { AuditLogEntry } from '@castellan/contract/audit';
import { jsonLine } from '../../platform/logging/json-line.ts';

type Column = keyof AuditLogEntry;
const isColumn = (name: string): name is Column => name in AuditLogEntry.properties;
// A field that the contract gets becomes a column too.
const columns = Object.keys(AuditLogEntry.properties).filter(isColumn);

/** `details` is JSON. */
export const csvOfEntries = {
  columns,
  cellsOf: (entry: AuditLogEntry): (string | null)[] => columns.map((column) => cellOf(entry[column])),
};

const cellOf = (value: AuditLogEntry[Column] = null): string | null =>
  typeof value === 'object' && value !== null ? jsonLine(value) : value;
