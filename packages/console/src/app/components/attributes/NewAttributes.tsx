// The attributes in the form of a new user: those that are required, and behind a fold all others.
import type { ReactElement } from 'react';
import { failureOf } from '../../data/errors.ts';
import { later } from '../../text.ts';
import { ReadErrors } from '../page/states.tsx';
import { AttributeFields } from './AttributeFields.tsx';
import { attributePath, type NewAttributesState } from './new-attributes.ts';

type Props = { state: NewAttributesState; error: unknown };

export function NewAttributes({ state, error }: Props): ReactElement | null {
  const texts = later.userAttributes;
  const { attributes, problems, read } = state;
  const refused = error ? [...failureOf(error).fields.keys()] : [];
  if (!state.mayRead)
    return refused.some((field) => field.startsWith(attributePath(''))) ? (
      <p className="muted">{texts.cannotRead('user_attribute.read')}</p>
    ) : null;
  const required = attributes.filter((one) => one.required);
  const optional = attributes.filter((one) => !one.required);
  const hasFault = optional.some(({ name }) => refused.includes(attributePath(name)) || problems?.has(name));
  const fields = (some: typeof attributes): ReactElement => (
    <AttributeFields
      attributes={some}
      texts={state.texts}
      onChange={state.setTexts}
      error={error}
      at={attributePath}
      problems={problems}
    />
  );
  return (
    <>
      <ReadErrors of={[read]} />
      {required.length > 0 && (
        <fieldset className="plain-fieldset">
          <legend>{texts.title}</legend>
          {fields(required)}
        </fieldset>
      )}
      {optional.length > 0 && (
        <details className="attribute-fold" {...(hasFault ? { open: true } : {})}>
          <summary>{texts.optional}</summary>
          {fields(optional)}
        </details>
      )}
    </>
  );
}
