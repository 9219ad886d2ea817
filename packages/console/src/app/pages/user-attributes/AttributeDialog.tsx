// Declares or changes an attribute. If somebody else has changed it, the person chooses for each field what to keep.
import { Modal, NativeSelect, Switch, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactElement, useState } from 'react';
import { FieldConflict } from '../../components/forms/FieldConflict.tsx';
import { Form, fieldError } from '../../components/forms/forms.tsx';
import { LoadingLines } from '../../components/page/LoadingLines.tsx';
import { notifyDone } from '../../components/page/notify.tsx';
import { ReadErrors } from '../../components/page/states.tsx';
import { call, readingVersioned, useWrite } from '../../data/api.ts';
import { isCode } from '../../data/errors.ts';
import { later, t } from '../../text.ts';
import { usersInTheWay } from './in-use.ts';
import {
  attributeTypes,
  bodyOf,
  changeOf,
  emptyValues,
  type FlagName,
  type FormValues,
  fieldNames,
  flagNames,
  formOf,
  isWhole,
  linesIn,
  selfAccesses,
  type TextName,
} from './values.ts';

export function NewDialog({ onClose }: { onClose: () => void }): ReactElement {
  const texts = later.userAttributes;
  const [values, setValues] = useState(emptyValues);
  const write = useWrite(
    () => call('POST /api/v1/user-attributes', { body: bodyOf(values) }),
    ({ data }) => {
      notifyDone(texts.saved(data.label));
      onClose();
    },
  );
  return (
    <Dialog
      title={texts.create}
      submitLabel={t.common.actions.create}
      isNew
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
    readingVersioned('GET /api/v1/user-attributes/{attribute_id}', { path: { attribute_id: id } }),
  );
  if (query.data)
    return (
      <EditForm
        id={id}
        stored={{ values: formOf(query.data.result.data), etag: query.data.etag }}
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
  const texts = later.userAttributes;
  // The version that the form began with, also when the record is read again.
  const [begun, setBegun] = useState(stored);
  const [values, setValues] = useState(begun.values);
  const write = useWrite(
    ({ body, etag }: { body: FormValues; etag: string | null }) =>
      call('PUT /api/v1/user-attributes/{attribute_id}', {
        path: { attribute_id: id },
        body: changeOf(body),
        ...(etag === null ? {} : { headers: { 'if-match': etag } }),
      }),
    ({ data }) => {
      notifyDone(texts.saved(data.label));
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
          ...(name === 'self'
            ? { textOf: (self) => texts.self[selfAccesses.find((one) => one === self) ?? 'none'] }
            : {}),
          ...(name === 'values' ? { textOf: (lines) => linesIn(lines).join(', ') } : {}),
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
  isNew?: boolean;
  values: FormValues;
  onChange: (values: FormValues) => void;
  write: { isPending: boolean; error: unknown };
  onSubmit: () => void;
  onClose: () => void;
};

function Dialog({ title, submitLabel, isNew = false, values, write, ...acts }: DialogProps): ReactElement {
  const texts = later.userAttributes;
  const [isChecked, setChecked] = useState(false);
  const users = usersInTheWay(write.error);
  const lines = linesIn(values.values).map((_line, index) => `values.${index}`);
  const errorAt = (name: TextName | FlagName): string | null => {
    const told = fieldError(write.error, name);
    return told !== null && users !== null ? texts.inUse(users) : told;
  };
  const set = (change: Partial<FormValues>): void => acts.onChange({ ...values, ...change });
  const inputOf = (name: TextName) => ({
    label: texts.fields[name],
    autoComplete: 'off',
    value: values[name],
    error: errorAt(name),
    onChange: (event: { currentTarget: { value: string } }) => set({ [name]: event.currentTarget.value }),
  });
  const isWrongNumber = isChecked && !isWhole(values);
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
        fields={[...fieldNames, ...lines]}
        submitLabel={submitLabel}
        onCancel={acts.onClose}
        isDisabled={values.label.trim() === '' || values.name.trim() === ''}
      >
        <div className="attribute-pair">
          <TextInput {...inputOf('label')} description={texts.help.label} data-autofocus required data-raw />
          <TextInput
            {...inputOf('name')}
            description={texts.help.name}
            placeholder={isNew ? 'cost_center' : ''}
            required={isNew}
            readOnly={!isNew}
            spellCheck={false}
            data-raw
          />
        </div>
        <Textarea
          {...inputOf('description')}
          description={texts.help.description}
          autosize
          minRows={1}
          data-raw
        />
        <div className="attribute-pair">
          {isNew ? (
            <NativeSelect
              {...inputOf('type')}
              description={texts.help.type}
              required
              data={attributeTypes.map((value) => ({ value, label: texts.types[value] }))}
            />
          ) : (
            <TextInput
              {...inputOf('type')}
              description={texts.help.type}
              readOnly
              value={texts.types[attributeTypes.find((one) => one === values.type) ?? 'string']}
            />
          )}
          {values.type === 'string' && (
            <TextInput
              {...inputOf('max_length')}
              description="1–4000"
              inputMode="numeric"
              error={isWrongNumber ? texts.notWhole : errorAt('max_length')}
            />
          )}
        </div>
        {values.type === 'enum' && (
          <Textarea
            {...inputOf('values')}
            description={texts.help.values}
            required
            autosize
            minRows={3}
            maxRows={10}
            error={[errorAt('values'), ...lines.map((name) => fieldError(write.error, name))].find(Boolean)}
            data-raw
          />
        )}
        <NativeSelect
          {...inputOf('self')}
          data={selfAccesses.map((value) => ({ value, label: texts.self[value] }))}
        />
        <div className="attribute-flags">
          {flagNames.map((name) => {
            const isRefused = values.type === 'json' && (name === 'unique' || name === 'searchable');
            return (
              <Switch
                key={name}
                label={texts.fields[name]}
                description={isRefused ? texts.help.notForJson : texts.help[name]}
                error={errorAt(name)}
                checked={values[name] && !isRefused}
                disabled={isRefused}
                onChange={(event) => set({ [name]: event.currentTarget.checked })}
              />
            );
          })}
        </div>
      </Form>
    </Modal>
  );
}
