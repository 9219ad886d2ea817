// After a conflict: what somebody else changed, cell by cell, and what of it stays.
import { Modal, SegmentedControl } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { t } from '../../text.ts';
import { Form } from '../forms/forms.tsx';
import {
  type Choices,
  countOf,
  type Difference,
  differences,
  differs,
  heldBy,
  keyOf,
  resolved,
} from './pending.ts';
import type { RoleChanges } from './use-role-changes.ts';

type Props = {
  changes: RoleChanges;
  onResolved: (isAnythingLeft: boolean) => void;
  onClose: () => void;
};

/** Own marks stand unless the person gives them up; what others changed elsewhere stands unless they take it back. */
export function ConflictDialog({ changes, onResolved, onClose }: Props): ReactElement {
  const { pending, held, latest, permissions, rebase } = changes;
  const [chosen, setChosen] = useState<Choices>(new Map());
  const found = differences(pending, held, heldBy(latest));
  const open = found.filter(differs);
  const choiceOf = (one: Difference): 'mine' | 'theirs' =>
    chosen.get(keyOf(one)) ?? (one.mine === one.before ? 'theirs' : 'mine');
  const roleName = new Map(latest.map(({ id, name }) => [id, name]));
  const permissionName = new Map(permissions.map(({ id, name }) => [id, name]));
  const changed = [...new Set(found.map(({ roleId }) => roleName.get(roleId) ?? ''))];
  const submit = (): void => {
    const next = resolved(pending, found, new Map(found.map((one) => [keyOf(one), choiceOf(one)])));
    rebase(next);
    onResolved(countOf(next) > 0);
  };
  return (
    <Modal
      opened
      onClose={onClose}
      size="lg"
      title={t.common.conflict.title}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Form
        onSubmit={submit}
        isPending={false}
        error={null}
        fields={[]}
        submitLabel={t.roles.conflict.keep}
        onCancel={onClose}
      >
        <p>
          {open.length > 0 ? t.roles.conflict.rolesText(changed.join(', ')) : t.roles.conflict.stillApply}
        </p>
        <ul className="conflicts">
          {open.map((one) => {
            const label = t.roles.conflict.cell(
              roleName.get(one.roleId) ?? '',
              permissionName.get(one.permissionId) ?? '',
            );
            return (
              <li key={keyOf(one)}>
                <span className="conflict-name">{label}</span>
                <SegmentedControl
                  size="xs"
                  aria-label={label}
                  value={choiceOf(one)}
                  onChange={(value) =>
                    setChosen(new Map(chosen).set(keyOf(one), value === 'mine' ? 'mine' : 'theirs'))
                  }
                  data={[
                    { value: 'theirs', label: t.common.conflict.theirs(textOf(one.theirs)) },
                    { value: 'mine', label: t.common.conflict.mine(textOf(one.mine)) },
                  ]}
                />
              </li>
            );
          })}
        </ul>
      </Form>
    </Modal>
  );
}

const textOf = (has: boolean): string => (has ? t.roles.conflict.yes : t.roles.conflict.no);
