/** The pane Log. */
export function LogPane() {
  return <p>Log</p>;
}
