/** The body of an answer from `who`, who may be hostile. Rejects once it has more than `most` bytes. */
export async function boundedText(answer: Response, most: number, who: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop early cancels the body and closes the connection.
  for await (const chunk of answer.body ?? []) {
    size += chunk.length;
    if (size > most) throw new Error(`${who} answered with more than ${most} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
