// Chooses the file of an import and says what is wrong with it, with the line.
import type { UserAttribute } from '@castellan/sdk';
import { Button, FileButton, Group } from '@mantine/core';
import { IconUpload } from '@tabler/icons-react';
import { type ReactElement, useRef } from 'react';
import { formatNumber } from '../../../../common/format.ts';
import { saveFile, toCsv } from '../../../components/lists/csv.ts';
import { ReadErrors } from '../../../components/page/states.tsx';
import { useUserAttributes } from '../../../data/attributes/attributes.ts';
import { later } from '../../../text.ts';
import { type FileProblem, importColumns } from './import.ts';
import { columnOf } from './import-attributes.ts';

/** With a column for each attribute, those that are required first. */
const saveTemplate = (attributes: readonly UserAttribute[]): void => {
  const columns = attributes
    .toSorted((one, other) => Number(other.required) - Number(one.required))
    .map(({ name }) => columnOf(name));
  saveFile(
    'users-template.csv',
    toCsv([
      [...importColumns, ...columns],
      ['ada@example.com', 'Ada', 'Lovelace', 'Editor; Auditor', '', ...columns.map(() => '')],
    ]),
  );
};

const sentenceOf = (problem: FileProblem): string =>
  'line' in problem
    ? later.userImport.faults[problem.problem](formatNumber(problem.line))
    : later.userImport.problems[problem.problem];

type Props = { problem: FileProblem | null; onFile: (file: File) => void };

export function ImportChoice({ problem, onFile }: Props): ReactElement {
  const forget = useRef<() => void>(null);
  const { attributes, mayRead, read } = useUserAttributes();
  const required = attributes.filter((one) => one.required);
  return (
    <>
      <p>{later.userImport.text}</p>
      {mayRead ? (
        attributes.length > 0 && (
          <p>
            {later.userImport.attributes}{' '}
            {required.length > 0 &&
              later.userImport.requiredColumns(required.map(({ name }) => columnOf(name)).join(', '))}
          </p>
        )
      ) : (
        <p className="muted">{later.userAttributes.cannotRead('user_attribute.read')}</p>
      )}
      <ReadErrors of={[read]} />
      <Group gap="xs">
        <FileButton
          accept=".csv,text/csv"
          inputProps={{ 'aria-label': later.userImport.file }}
          resetRef={forget}
          onChange={(file) => {
            // The same file, mended, can be chosen again.
            forget.current?.();
            if (file) onFile(file);
          }}
        >
          {(props) => (
            <Button {...props} leftSection={<IconUpload size={16} aria-hidden />} data-autofocus>
              {later.userImport.choose}
            </Button>
          )}
        </FileButton>
        <Button variant="default" onClick={() => saveTemplate(attributes)}>
          {later.userImport.template}
        </Button>
      </Group>
      {problem && (
        <p role="alert" className="field-problem">
          {sentenceOf(problem)}
        </p>
      )}
    </>
  );
}
