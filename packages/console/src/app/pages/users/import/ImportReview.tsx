// Before an import: what happens to each row, and who gains what by it.
import { Button, Group } from '@mantine/core';
import type { ReactElement } from 'react';
import { Impact, usePreview } from '../../../components/dialogs/impact.tsx';
import { Tag } from '../../../components/text/badges.tsx';
import { useMe } from '../../../data/me.tsx';
import { later, t } from '../../../text.ts';
import type { Verdict } from './import.ts';
import { type Judged, previewImport } from './import-run.ts';

const tones = { create: 'good', assign: 'accent', same: 'gray', error: 'bad' } as const;

function detailOf(verdict: Verdict): string {
  if (verdict.kind === 'create') return verdict.row.roles.join(', ');
  if (verdict.kind === 'assign') return `+ ${verdict.roleNames.join(', ')}`;
  return verdict.kind === 'error' ? later.userImport.rowProblems[verdict.problem](verdict.detail) : '';
}

type Props = { judged: Judged; onRun: () => void; onBack: () => void };

export function ImportReview({ judged, onRun, onBack }: Props): ReactElement {
  const { can } = useMe();
  const { verdicts } = judged;
  const count = (kind: Verdict['kind']): number => verdicts.filter((one) => one.kind === kind).length;
  const mayAssign = can('user.update') || count('assign') === 0;
  const work = count('create') + count('assign');
  const isPossible = work > 0 && mayAssign;
  const preview = usePreview(
    ['import', verdicts],
    async (signal, query) => ({
      data: await previewImport(judged, { mayChangeAccess: can('access.change'), signal, query }),
    }),
    isPossible,
  );
  return (
    <>
      <p role="status">
        {later.userImport.summary(count('create'), count('assign'), count('same'), count('error'))}
      </p>
      <VerdictTable verdicts={verdicts} />
      {!mayAssign && <p>{t.common.forbidden.reason('user.update')}</p>}
      {isPossible && <Impact preview={preview} />}
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={onBack}>
          {t.common.actions.back}
        </Button>
        {/* Rows that the service refuses are reported one by one, so a refusal in the preview does not end the import. */}
        <Button disabled={!isPossible || (!preview.data && !preview.error)} onClick={onRun}>
          {later.userImport.run(work)}
        </Button>
      </Group>
    </>
  );
}

function VerdictTable({ verdicts }: { verdicts: readonly Verdict[] }): ReactElement {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll the table by it
    <section className="import-table" aria-label={later.userImport.title} tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">{later.userImport.line}</th>
            <th scope="col">{t.users.fields.email}</th>
            <th scope="col">{later.userImport.verdict}</th>
          </tr>
        </thead>
        <tbody>
          {verdicts.map((verdict) => (
            <tr key={verdict.row.line}>
              <td>{verdict.row.line}</td>
              <td>{verdict.row.email}</td>
              <td>
                <Tag tone={tones[verdict.kind]}>{later.userImport.kinds[verdict.kind]}</Tag>{' '}
                {detailOf(verdict)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
