#!/usr/bin/env node
// Nothing here is newer than 2018, so that a Node too old for the rest can still read it and say so.
const needed = 24;
if (Number.parseInt(process.versions.node, 10) < needed) {
  console.error(
    `plantstore needs Node.js ${needed} or newer, and this is ${process.version}. After npm ci in its folder, npm start and npx plantstore run the right one.`,
  );
  process.exit(1);
}
import('./run.js');
