/** Rows for `test.each`, each with the start of one of its values in front: a title for a row that may hold a mebibyte. */
export const named = <Row extends readonly unknown[]>(rows: readonly Row[], value = 0): [string, ...Row][] =>
  rows.map((row) => [JSON.stringify(row[value]).slice(0, 60), ...row]);
