import type { Browser } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { type Service, startService } from '../../support/service.ts';
import { openBrowser } from './browser.ts';

/** A service, and a browser to look at it. */
export interface Scene {
  readonly service: Service;
  readonly browser: Browser;
}

/** A scene for the tests of a suite: it is there from before the first of them until after the last. */
export function startScene(environment: Readonly<Record<string, string>> = {}): Scene {
  const scene = {} as { service: Service; browser: Browser };
  beforeAll(async () => {
    // A browser takes the cores that the service needs: that refuses nothing of what a test looks at.
    const patient = { MAX_WAIT: '30000', ...environment };
    [scene.service, scene.browser] = await Promise.all([startService(patient), openBrowser()]);
  });
  afterAll(async () => {
    await scene.browser.close();
    await scene.service.stop();
  });
  return scene;
}
