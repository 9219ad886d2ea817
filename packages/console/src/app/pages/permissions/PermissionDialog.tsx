// Creates a permission. Its name begins with the name of its group, which stands in front of the field.
import type { Permission, PermissionGroup } from '@castellan/sdk';
import { Modal, NativeSelect, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactElement, useState } from 'react';
import { Form, fieldError } from '../../components/forms.tsx';
import { notifyDone } from '../../components/notify.tsx';
import { ErrorAlert } from '../../components/states.tsx';
import { call, useWrite } from '../../data/api.ts';
import { allPermissionGroups } from '../../data/catalogue.ts';
import { isCode } from '../../data/errors.ts';
import { t } from '../../text.ts';

type Props = {
  groupId?: string | undefined;
  onCreated: (permission: Permission) => void;
  onClose: () => void;
};

type Choice = { id: string; name: string; label: string };

/** Returns the groups in the order of the tree, indented by level. */
const choicesOf = (groups: readonly PermissionGroup[], level = 0): Choice[] =>
  groups.flatMap(({ id, name, groups: children }) => [
    { id, name, label: `${'\u2003'.repeat(level)}${name}` },
    ...choicesOf(children, level + 1),
  ]);

export function PermissionDialog({ groupId, onCreated, onClose }: Props): ReactElement {
  const groups = useQuery(allPermissionGroups);
  const choices = choicesOf(groups.data ?? []);
  const [chosen, setChosen] = useState(groupId ?? '');
  const [action, setAction] = useState('');
  const [description, setDescription] = useState('');
  const group = choices.find(({ id }) => id === chosen);
  const creation = useWrite(
    () =>
      call('POST /api/v1/permissions', {
        body: { name: action.trim(), description, group_id: chosen },
      }),
    ({ data }) => {
      notifyDone(t.permissions.created(data.name));
      onCreated(data);
    },
  );
  const taken = isCode(creation.error, 'name_taken') ? t.permissions.taken : null;
  return (
    <Modal
      opened
      onClose={onClose}
      title={t.permissions.newPermission}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Form
        onSubmit={() => creation.run(undefined)}
        isPending={creation.isPending}
        error={taken === null ? creation.error : null}
        submitLabel={t.common.actions.create}
        isDisabled={group === undefined || action.trim() === ''}
        onCancel={onClose}
        fields={['name', 'description']}
      >
        {groups.error && <ErrorAlert error={groups.error} onRetry={() => void groups.refetch()} />}
        <NativeSelect
          label={t.permissions.group}
          required
          value={chosen}
          onChange={(event) => setChosen(event.currentTarget.value)}
          data={[
            { value: '', label: t.permissions.chooseGroup, disabled: true },
            ...choices.map(({ id, label }) => ({ value: id, label })),
          ]}
        />
        <TextInput
          label={t.permissions.action}
          description={
            group === undefined
              ? t.permissions.actionHelp
              : t.permissions.fullName(`${group.name}.${action.trim() || '…'}`)
          }
          required
          data-autofocus={groupId !== undefined || undefined}
          autoComplete="off"
          spellCheck={false}
          className="prefixed"
          leftSection={group && <span className="mono prefix">{group.name}.</span>}
          leftSectionWidth={group ? `${group.name.length + 2.5}ch` : undefined}
          leftSectionProps={{ 'aria-hidden': true }}
          value={action}
          error={taken ?? fieldError(creation.error, 'name')}
          onChange={(event) => setAction(event.currentTarget.value)}
        />
        <Textarea
          label={t.permissions.description}
          autosize
          minRows={2}
          value={description}
          error={fieldError(creation.error, 'description')}
          onChange={(event) => setDescription(event.currentTarget.value)}
        />
      </Form>
    </Modal>
  );
}
