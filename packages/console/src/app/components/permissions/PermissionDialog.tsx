// Creates a permission, and its group where there is none yet. The name of the permission begins with the name of its
// group, which is shown in front of the field.
import type { Permission, PermissionGroup } from '@castellan/sdk';
import { Modal, NativeSelect, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactElement, useState } from 'react';
import { call, useWrite } from '../../data/api.ts';
import { allPermissionGroups } from '../../data/catalogue.ts';
import { isCode } from '../../data/errors.ts';
import { useCan } from '../../data/me.tsx';
import { t } from '../../text.ts';
import { Form, fieldError } from '../forms/forms.tsx';
import { notifyDone } from '../page/notify.tsx';
import { ErrorAlert } from '../page/states.tsx';

type Props = {
  groupId?: string | undefined;
  onCreated: (permission: Permission) => void;
  onClose: () => void;
};

/** The choice that is no group yet. */
const NEW_GROUP = 'new';

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
  const [groupName, setGroupName] = useState('');
  const mayCreateGroup = useCan('permission_group.create');
  const isNewGroup = chosen === NEW_GROUP;
  const prefix = isNewGroup ? groupName.trim() : (choices.find(({ id }) => id === chosen)?.name ?? '');
  const creation = useWrite(
    async () => {
      let groupId = chosen;
      if (isNewGroup) {
        const created = await call('POST /api/v1/permission-groups', { body: { name: groupName.trim() } });
        groupId = created.data.id;
        // If the permission is refused, the next attempt must not create the group again.
        setChosen(groupId);
      }
      return call('POST /api/v1/permissions', {
        body: { name: action.trim(), description, group_id: groupId },
      });
    },
    ({ data }) => {
      notifyDone(t.permissions.created(data.name));
      onCreated(data);
    },
  );
  const isTaken = isCode(creation.error, 'name_taken');
  const taken = isNewGroup ? t.permissions.groupTaken : t.permissions.taken;
  // While a new group is chosen, it is the group that was refused.
  const nameError = isTaken ? taken : fieldError(creation.error, 'name');
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
        error={creation.error}
        submitLabel={t.common.actions.create}
        isDisabled={prefix === '' || action.trim() === ''}
        onCancel={onClose}
        fields={['name', 'description']}
      >
        {groups.error && <ErrorAlert error={groups.error} onRetry={() => void groups.refetch()} />}
        <NativeSelect
          label={t.permissions.group}
          required
          data-autofocus={groupId === undefined || undefined}
          value={chosen}
          onChange={(event) => {
            creation.reset();
            setChosen(event.currentTarget.value);
          }}
          data={[
            { value: '', label: t.permissions.chooseGroup, disabled: true },
            ...(mayCreateGroup ? [{ value: NEW_GROUP, label: t.permissions.newGroupChoice }] : []),
            ...choices.map(({ id, label }) => ({ value: id, label })),
          ]}
        />
        {isNewGroup && (
          <TextInput
            label={t.permissions.groupName}
            description={t.permissions.groupNameHelp}
            required
            autoComplete="off"
            spellCheck={false}
            value={groupName}
            error={nameError}
            onChange={(event) => setGroupName(event.currentTarget.value)}
          />
        )}
        <TextInput
          label={t.permissions.action}
          description={
            prefix === ''
              ? t.permissions.actionHelp
              : t.permissions.fullName(`${prefix}.${action.trim() || '…'}`)
          }
          required
          data-autofocus={groupId !== undefined || undefined}
          autoComplete="off"
          spellCheck={false}
          className="prefixed"
          leftSection={prefix !== '' && <span className="mono prefix">{prefix}.</span>}
          leftSectionWidth={prefix === '' ? undefined : `${prefix.length + 2.5}ch`}
          leftSectionProps={{ 'aria-hidden': true }}
          value={action}
          error={isNewGroup ? null : nameError}
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
