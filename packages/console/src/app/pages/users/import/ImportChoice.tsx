// Chooses the file of an import and says what is wrong with it, with the line.
import { Button, FileButton, Group } from '@mantine/core';
import { IconUpload } from '@tabler/icons-react';
import { type ReactElement, useRef } from 'react';
import { formatNumber } from '../../../../common/format.ts';
import { saveFile, toCsv } from '../../../components/lists/csv.ts';
import { later } from '../../../text.ts';
import { type FileProblem, importColumns } from './import.ts';

const saveTemplate = (): void =>
  saveFile(
    'users-template.csv',
    toCsv([[...importColumns], ['ada@example.com', 'Ada', 'Lovelace', 'Editor; Auditor']]),
  );

const sentenceOf = (problem: FileProblem): string =>
  'line' in problem
    ? later.userImport.faults[problem.problem](formatNumber(problem.line))
    : later.userImport.problems[problem.problem];

type Props = { problem: FileProblem | null; onFile: (file: File) => void };

export function ImportChoice({ problem, onFile }: Props): ReactElement {
  const forget = useRef<() => void>(null);
  return (
    <>
      <p>{later.userImport.text}</p>
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
        <Button variant="default" onClick={saveTemplate}>
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
