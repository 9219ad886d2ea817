// All settings of an application in one form. If somebody else has changed it, the person chooses for each field what to keep.
import { Fragment, type ReactElement, useState } from 'react';
import { FieldConflict } from '../../../components/forms/FieldConflict.tsx';
import { Form, LeaveGuard } from '../../../components/forms/forms.tsx';
import { notifyDone } from '../../../components/page/notify.tsx';
import { useWrite } from '../../../data/api.ts';
import { type ReadApplication, updateApplication } from '../../../data/applications.ts';
import { failureOf, isCode } from '../../../data/errors.ts';
import type { ApplicationField } from '../../../data/form-fields.ts';
import { useCan } from '../../../data/me.tsx';
import { later, t } from '../../../text.ts';
import { AccessEnds } from '../record/AccessEnds.tsx';
import { FieldInput } from './FieldInput.tsx';
import { fieldNames, groups, kinds } from './fields.ts';
import { bodyOf, changedNames, type FormValues, faultOf, valuesOf } from './values.ts';

/** The version that the form began with, also when the page reads the record again. */
type Begun = { etag: string | null; values: FormValues };

const begin = ({ application, etag }: ReadApplication): Begun => ({ etag, values: valuesOf(application) });

export function SettingsTab({ read }: { read: ReadApplication }): ReactElement {
  const texts = later.applications.page;
  const mayUpdate = useCan('application.update');
  const [begun, setBegun] = useState(() => begin(read));
  const [values, setValues] = useState(begun.values);
  const [isChecked, setChecked] = useState(false);
  const changed = changedNames(begun.values, values);
  const restart = (from: ReadApplication): void => {
    const next = begin(from);
    setBegun(next);
    setValues(next.values);
    setChecked(false);
  };
  // Nothing was typed that another version could overwrite.
  if (changed.length === 0 && begun.etag !== read.etag) restart(read);
  const write = useWrite(
    ({ from, to }: { from: Begun; to: FormValues }) =>
      updateApplication({ ...read, etag: from.etag }, bodyOf(from.values, to)),
    (stored) => {
      restart(stored);
      notifyDone(texts.saved(stored.application.name));
    },
  );
  const theirs = begin(read);
  // Until the record has been read again, it is what the form began with.
  if (isCode(write.error, 'precondition_failed') && begun.etag !== theirs.etag)
    return (
      <FieldConflict
        versions={{ base: begun.values, mine: values, theirs: theirs.values }}
        fields={fieldNames.map((name) => ({ name, label: texts.fields[name].label }))}
        // What was typed stays in the form.
        onClose={() => write.reset()}
        onSave={(chosen) => {
          setBegun(theirs);
          setValues(chosen);
          write.run({ from: theirs, to: chosen });
        }}
      />
    );
  const faults = new Map(changed.map((name) => [name, faultOf(name, values[name])] as const));
  const errorAt = (name: ApplicationField): string | null => {
    const fault = isChecked ? faults.get(name) : null;
    return fault ? texts.faults[fault] : serviceError(write.error, name);
  };
  return (
    <div className="settings-form">
      <LeaveGuard when={changed.length > 0 && !write.isPending} of={['tab']} />
      {!mayUpdate && <p className="muted">{t.common.forbidden.reason('application.update')}</p>}
      <Form
        onSubmit={() => {
          setChecked(true);
          if (![...faults.values()].some((fault) => fault !== null)) write.run({ from: begun, to: values });
        }}
        isPending={write.isPending}
        error={write.error}
        fields={namedFields(write.error)}
        submitLabel={t.common.actions.save}
        isDisabled={!mayUpdate || changed.length === 0}
      >
        {groups.map(({ key, fields }) => (
          <fieldset key={key} className="panel settings-group">
            <legend className="section-title">{texts.groups[key]}</legend>
            {fields.map((name) => (
              <Fragment key={name}>
                <FieldInput
                  name={name}
                  value={values[name]}
                  error={errorAt(name)}
                  isReadOnly={!mayUpdate}
                  onChange={(value) => setValues((now) => ({ ...now, [name]: value }))}
                />
                {name === 'is_active' && begun.values.is_active === true && values.is_active === false && (
                  <AccessEnds id={read.application.id} change={{ is_active: false }} />
                )}
              </Fragment>
            ))}
          </fieldset>
        ))}
      </Form>
    </div>
  );
}

/** Whether the service means this field, or something in it: `redirect_uris.2`. */
const isOf = (field: string, name: string): boolean => field === name || field.startsWith(`${name}.`);

/** Returns what the service says about the field, with the number of the line. */
function serviceError(error: unknown, name: ApplicationField): string | null {
  if (!error) return null;
  const found = [...failureOf(error).fields].find(([field]) => isOf(field, name));
  if (!found) return null;
  const [field, message] = found;
  const rest = field.slice(name.length + 1);
  if (rest === '') return message;
  if (kinds[name] === 'lines') return later.applications.page.inLine(Number(rest) + 1, message);
  return `${rest}: ${message}`;
}

/** The fields of an error that show in the form. */
const namedFields = (error: unknown): string[] =>
  error
    ? [...failureOf(error).fields.keys()].filter((field) => fieldNames.some((name) => isOf(field, name)))
    : [];
