// Refuses paths with an empty parameter, such as `/users/` or `/users//roles`, which the router takes for `/users/:user_id`.
// It must not look at the value of any other parameter.
import { AppError } from '../../errors.ts';
import { isObject } from '../../unknown-values.ts';
import { hook } from '../hooks.ts';
import type { App } from '../server/server.ts';

/** Answers `route_not_found` (404), as to any unknown path. Add it before CSRF protection and authorization. */
export function refuseEmptyParams(app: App): void {
  app.addHook(
    'onRequest',
    hook(({ params }) => {
      if (isObject(params))
        // What a wildcard matches may be empty.
        for (const name in params)
          if (params[name] === '' && name !== '*') throw new AppError('route_not_found');
    }),
  );
}
