import { Connection } from '../../../client/connection.ts';
import { messageOf } from '../../../client/errors.ts';
import { PlantStore } from '../../../client/index.ts';
import { unreachable } from '../reach.ts';
import { refused, session } from '../session.ts';

/** Called for each attempt that gets an answer, with the service's words unless that is a success. */
type OnAnswer = (failure: string | undefined) => void;

/** Throws if the user has signed out meanwhile. */
function token(): string {
  const { token: held } = session.peek() ?? {};
  if (held === undefined) throw new Error('nobody is signed in');
  return held;
}

/** Notices when the service refuses the token, and when it cannot be reached. */
const noticing =
  (onAnswer: OnAnswer): typeof fetch =>
  async (input, init) => {
    const sent = session.peek()?.token;
    const answer = await fetch(input, init).catch((error) => {
      if (init?.signal?.aborted !== true) void unreachable();
      throw error;
    });
    const failure = answer.ok ? undefined : (messageOf(await answer.clone().text()) ?? `HTTP ${answer.status}`);
    if (answer.status === 401 || answer.headers.get('plantstore-reason') === 'AUTHORIZATION_MALFORMED')
      refused(sent, failure!);
    onAnswer(failure);
    return answer;
  };

/** A client of the caller's plants. */
export const openPlantStore = (onAnswer: OnAnswer = () => {}): PlantStore =>
  new PlantStore({ url: location.origin, token, fetch: noticing(onAnswer) });

/** The service, for what is not about plants. */
export const service: Connection = new Connection(
  location.origin,
  token,
  noticing(() => {}),
);
