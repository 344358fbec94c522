/** The pane Plants. */
export function PlantsPane() {
  return <p>Plants</p>;
}
