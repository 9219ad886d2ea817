// After an import: how many rows were done, which failed and why, and which were not reached.
import { Button, Group } from '@mantine/core';
import type { ReactElement } from 'react';
import { saveFile, toCsv } from '../../../components/lists/csv.ts';
import { later, t } from '../../../text.ts';
import { importColumns, type Verdict } from './import.ts';
import { attributeColumns } from './import-attributes.ts';

type Props = {
  /** The rows that were tried. */
  verdicts: readonly Verdict[];
  failures: ReadonlyMap<number, string>;
  /** The rows after the one at which the import was stopped. */
  undone: readonly Verdict[];
  onClose: () => void;
};

export function ImportResult({ verdicts, failures, undone, onClose }: Props): ReactElement {
  const failed = verdicts.filter(({ row }) => failures.has(row.line));
  const left = [...failed, ...undone];
  const ofAttributes = [...new Set(left.flatMap(({ row }) => attributeColumns(Object.keys(row.attributes))))];
  const download = (): void =>
    saveFile(
      'users-failed.csv',
      toCsv([
        [...importColumns, ...ofAttributes, 'error'],
        ...left.map(({ row }) => [
          row.email,
          row.first_name,
          row.last_name,
          row.roles.join('; '),
          row.external_id,
          ...ofAttributes.map((name) => row.attributes[name] ?? ''),
          failures.get(row.line) ?? '',
        ]),
      ]),
    );
  return (
    <>
      <p role="status">
        {later.userImport.result(verdicts.length - failed.length, failed.length)}
        {undone.length > 0 && ` ${later.userImport.unreached(undone.length)}`}
      </p>
      {failed.length > 0 && (
        <ul className="reasons">
          {failed.map(({ row }) => (
            <li key={row.line}>
              {later.userImport.failedRow(row.line, row.email)} {failures.get(row.line)}
            </li>
          ))}
        </ul>
      )}
      <Group justify="flex-end" gap="xs">
        {left.length > 0 && (
          <Button variant="default" onClick={download}>
            {later.userImport.download}
          </Button>
        )}
        <Button onClick={onClose}>{t.common.actions.close}</Button>
      </Group>
    </>
  );
}
