/** Shows new recovery codes, once. */
export type ShowCodes = (codes: readonly string[]) => void;
