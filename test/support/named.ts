/** Rows for `test.each`, each with the beginning of one value as its title, because a value may have a mebibyte. */
export const named = <Row extends readonly unknown[]>(rows: readonly Row[], value = 0): [string, ...Row][] =>
  rows.map((row) => [JSON.stringify(row[value]).slice(0, 60), ...row]);
