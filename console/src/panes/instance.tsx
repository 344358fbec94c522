/** The pane Instance. */
export function InstancePane() {
  return <p>Instance</p>;
}
