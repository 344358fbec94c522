import { useEffect, useRef, useState } from 'preact/hooks';

/** Milliseconds between two announcements. */
const PAUSE = 4_000;

/** Announces frequent changes to screen readers only, no more often than one can listen to. */
export function Spoken({ text }: { readonly text: string }) {
  const [spoken, setSpoken] = useState('');
  const newest = useRef(text);
  newest.current = text;
  useEffect(() => {
    const timer = setInterval(() => setSpoken(newest.current), PAUSE);
    return () => clearInterval(timer);
  }, []);
  return (
    <span class="unseen" role="status">
      {spoken}
    </span>
  );
}
