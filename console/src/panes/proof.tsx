/** The pane Proof. */
export function ProofPane() {
  return <p>Proof</p>;
}
