// Creates or changes an API resource. If somebody else has changed it, the person chooses for each field what to keep.
import type { PermissionGroup } from '@castellan/sdk';
import { Modal, MultiSelect, NativeSelect, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactElement, useState } from 'react';
import { FieldConflict } from '../../components/forms/FieldConflict.tsx';
import { Form, fieldError } from '../../components/forms/forms.tsx';
import { LoadingLines } from '../../components/page/LoadingLines.tsx';
import { notifyDone } from '../../components/page/notify.tsx';
import { ReadErrors } from '../../components/page/states.tsx';
import { call, readingVersioned, useWrite } from '../../data/api.ts';
import { allPermissionGroups, allPermissions } from '../../data/catalogue.ts';
import { isCode } from '../../data/errors.ts';
import { useMe } from '../../data/me.tsx';
import { later, t } from '../../text.ts';
import { bodyOf, emptyValues, type FormValues, fieldNames, idsIn, isWhole, valuesOf } from './values.ts';

export function NewDialog({ onClose }: { onClose: () => void }): ReactElement {
  const texts = later.apiResources;
  const [values, setValues] = useState(emptyValues);
  const write = useWrite(
    () => call('POST /api/v1/api-resources', { body: bodyOf(values) }),
    ({ data }) => {
      notifyDone(texts.saved(data.name));
      onClose();
    },
  );
  return (
    <Dialog
      title={texts.create}
      submitLabel={t.common.actions.create}
      values={values}
      onChange={setValues}
      write={write}
      onSubmit={() => write.run(undefined)}
      onClose={onClose}
    />
  );
}

type EditProps = { id: string; onClose: () => void };

/** Reads the record and its version first. */
export function EditDialog({ id, onClose }: EditProps): ReactElement {
  const query = useQuery(
    readingVersioned('GET /api/v1/api-resources/{api_resource_id}', { path: { api_resource_id: id } }),
  );
  if (query.data)
    return (
      <EditForm
        id={id}
        stored={{ values: valuesOf(query.data.result.data), etag: query.data.etag }}
        onClose={onClose}
      />
    );
  return (
    <Modal
      opened
      onClose={onClose}
      title={t.common.actions.edit}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <ReadErrors of={[query]} />
      {!query.error && <LoadingLines />}
    </Modal>
  );
}

type Stored = { values: FormValues; etag: string | null };

function EditForm({ id, stored, onClose }: EditProps & { stored: Stored }): ReactElement {
  const texts = later.apiResources;
  // The version that the form began with, also when the record is read again.
  const [begun, setBegun] = useState(stored);
  const [values, setValues] = useState(begun.values);
  const groups = useGroups();
  const write = useWrite(
    ({ body, etag }: { body: FormValues; etag: string | null }) =>
      call('PUT /api/v1/api-resources/{api_resource_id}', {
        path: { api_resource_id: id },
        body: bodyOf(body),
        ...(etag === null ? {} : { headers: { 'if-match': etag } }),
      }),
    ({ data }) => {
      notifyDone(texts.saved(data.name));
      onClose();
    },
  );
  // Until the record has been read again, it is what the form began with.
  if (isCode(write.error, 'precondition_failed') && begun.etag !== stored.etag)
    return (
      <FieldConflict
        versions={{ base: begun.values, mine: values, theirs: stored.values }}
        fields={fieldNames.map((name) => ({
          name,
          label: texts.fields[name],
          ...(name === 'permission_group_ids'
            ? { textOf: (text: string) => idsIn(text).map(groups.nameOf).join(', ') }
            : {}),
        }))}
        onClose={onClose}
        onSave={(body) => {
          setBegun(stored);
          setValues(body);
          write.run({ body, etag: stored.etag });
        }}
      />
    );
  return (
    <Dialog
      title={t.common.actions.edit}
      submitLabel={t.common.actions.save}
      values={values}
      onChange={setValues}
      write={write}
      onSubmit={() => write.run({ body: values, etag: begun.etag })}
      onClose={onClose}
    />
  );
}

type DialogProps = {
  title: string;
  submitLabel: string;
  values: FormValues;
  onChange: (values: FormValues) => void;
  write: { isPending: boolean; error: unknown };
  onSubmit: () => void;
  onClose: () => void;
};

function Dialog({ title, submitLabel, values, onChange, write, ...acts }: DialogProps): ReactElement {
  const texts = later.apiResources;
  const groups = useGroups();
  const [isChecked, setChecked] = useState(false);
  const inputOf = (name: (typeof fieldNames)[number]) => ({
    label: texts.fields[name],
    autoComplete: 'off',
    value: values[name],
    error: fieldError(write.error, name),
    onChange: (event: { currentTarget: { value: string } }) =>
      onChange({ ...values, [name]: event.currentTarget.value }),
  });
  return (
    <Modal
      opened
      onClose={acts.onClose}
      title={title}
      size="lg"
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Form
        onSubmit={() => {
          setChecked(true);
          if (isWhole(values)) acts.onSubmit();
        }}
        isPending={write.isPending}
        error={write.error}
        fields={fieldNames}
        submitLabel={submitLabel}
        onCancel={acts.onClose}
        isDisabled={values.name.trim() === '' || values.identifier.trim() === ''}
      >
        <TextInput {...inputOf('name')} data-autofocus required />
        <TextInput
          {...inputOf('identifier')}
          description={texts.identifierHelp}
          placeholder="https://orders.example.com"
          required
          spellCheck={false}
          data-raw
        />
        <Textarea {...inputOf('description')} autosize minRows={2} />
        <MultiSelect
          label={texts.fields.permission_group_ids}
          description={groups.missing ?? texts.groupsHelp}
          value={idsIn(values.permission_group_ids)}
          onChange={(ids) => onChange({ ...values, permission_group_ids: [...ids].sort().join(' ') })}
          data={groups.options}
          error={fieldError(write.error, 'permission_group_ids')}
          searchable
          clearable
          clearButtonProps={{ 'aria-label': texts.clearGroups }}
          data-raw
        />
        <ReadErrors of={groups.reads} />
        <div className="resource-pair">
          <TextInput
            {...inputOf('access_token_seconds')}
            description={texts.secondsHelp}
            inputMode="numeric"
            error={
              isChecked && !isWhole(values) ? texts.notWhole : fieldError(write.error, 'access_token_seconds')
            }
          />
          <NativeSelect {...inputOf('signing_alg')} description={texts.algHelp} data={['RS256', 'ES256']} />
        </div>
      </Form>
    </Modal>
  );
}

/** The permission groups to choose from, with their paths: all but the service's own. */
function useGroups() {
  const { can } = useMe();
  const missing = ['permission.read', 'permission_group.read'].find((one) => !can(one));
  const groups = useQuery({ ...allPermissionGroups, enabled: missing === undefined });
  const builtin = useQuery({ ...allPermissions({ is_builtin: true }), enabled: missing === undefined });
  const own = new Set(builtin.data?.map(({ group_id }) => group_id));
  const all = pathsOf(groups.data ?? []);
  return {
    reads: [groups, builtin],
    missing: missing === undefined ? undefined : t.common.forbidden.reason(missing),
    options: builtin.data
      ? [...all].filter(([id]) => !own.has(id)).map(([value, label]) => ({ value, label }))
      : [],
    nameOf: (id: string): string => all.get(id) ?? id,
  };
}

function pathsOf(groups: readonly PermissionGroup[], above: readonly string[] = []): Map<string, string> {
  return new Map(
    groups.flatMap(({ id, name, groups: inner }) => {
      const path = [...above, name];
      return [[id, path.join(' / ')] as const, ...pathsOf(inner, path)];
    }),
  );
}
