/** The pane History. */
export function HistoryPane() {
  return <p>History</p>;
}
