import { useEffect, useRef, useState } from 'preact/hooks';

/** Milliseconds between two announcements. */
const PAUSE = 4_000;

/** Tells a screen reader, and nobody else, of what changes often: not more often than can be listened to. */
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
