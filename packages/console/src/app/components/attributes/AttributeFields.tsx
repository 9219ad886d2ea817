// Controls for values of several attributes, each with what is wrong with it.
// It must not read or write anything.
import type { ReactElement } from 'react';
import type { Attribute } from '../../data/attributes/attributes.ts';
import { later } from '../../text.ts';
import { fieldError } from '../forms/forms.tsx';
import { AttributeField } from './AttributeField.tsx';
import type { Problems, Texts } from './values.ts';
import './attributes.css';

type Props<A> = {
  attributes: readonly A[];
  texts: Texts;
  onChange: (texts: Texts) => void;
  /** What the service refused. `at`: returns the path of an attribute in the request. */
  error: unknown;
  at: (name: string) => string;
  /** What could not be sent. */
  problems: Problems | null;
  isReadOnly?: (attribute: A) => boolean;
};

export function AttributeFields<A extends Attribute & { required?: boolean }>({
  attributes,
  texts,
  onChange,
  error,
  at,
  problems,
  isReadOnly,
}: Props<A>): ReactElement {
  return (
    <div className="attribute-fields">
      {attributes.map((one) => {
        const problem = problems?.get(one.name);
        return (
          <AttributeField
            key={one.name}
            attribute={one}
            text={texts[one.name] ?? ''}
            onChange={(text) => onChange({ ...texts, [one.name]: text })}
            error={problem ? later.userAttributes.problems[problem] : fieldError(error, at(one.name))}
            isRequired={one.required ?? false}
            isReadOnly={isReadOnly?.(one) ?? false}
          />
        );
      })}
    </div>
  );
}
