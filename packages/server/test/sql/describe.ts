// Asks PostgreSQL for the parameters and the columns of a statement. It must not run the statement.
import type pg from 'pg';

/** Types are object identifiers of pg_type. */
export type Description = {
  parameters: number[];
  /** `table` and `column` are 0 for an expression. */
  columns: { name: string; type: number; table: number; column: number }[];
};

type RowDescription = {
  fields: { name: string; dataTypeID: number; tableID: number; columnID: number }[];
};
type Connection = pg.Connection & {
  describe(what: { type: 'S'; name: string }): void;
  once(event: 'parameterDescription', listener: (message: { dataTypeIDs: number[] }) => void): void;
};

/** Sends Parse and Describe (PostgreSQL manual, "Extended Query"). Rejects with the error of PostgreSQL. */
export function describe(client: pg.Client, text: string): Promise<Description> {
  return new Promise((resolve, reject) => {
    const description: Description = { parameters: [], columns: [] };
    const query = {
      submit(to: pg.Connection) {
        const connection = to as Connection;
        connection.once('parameterDescription', ({ dataTypeIDs }) => {
          description.parameters = dataTypeIDs;
        });
        connection.parse({ name: '', text, types: [] }, true);
        connection.describe({ type: 'S', name: '' });
        connection.sync();
      },
      handleRowDescription({ fields }: RowDescription) {
        description.columns = fields.map((field) => ({
          name: field.name,
          type: field.dataTypeID,
          table: field.tableID,
          column: field.columnID,
        }));
      },
      handleError: reject,
      handleReadyForQuery: () => resolve(description),
    };
    client.query(query as unknown as pg.Submittable);
  });
}
