import { useEffect } from 'preact/hooks';

/** Takes files that are dropped anywhere on the page. */
export function useDroppedFile(take: (file: File) => void): void {
  useEffect(() => {
    const ended = new AbortController();
    const { signal } = ended;
    addEventListener('dragover', (event) => event.preventDefault(), { signal });
    addEventListener(
      'drop',
      (event) => {
        event.preventDefault();
        const file = event.dataTransfer?.files[0];
        if (file) take(file);
      },
      { signal },
    );
    return () => ended.abort();
  }, [take]);
}
