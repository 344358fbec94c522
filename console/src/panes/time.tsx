/** The pane Time. */
export function TimePane() {
  return <p>Time</p>;
}
