#!/usr/bin/env node
// This file uses nothing newer than 2018, so a Node that is too old for the rest can still run it and say so.
const needed = 24;
if (Number.parseInt(process.versions.node, 10) < needed) {
  console.error(
    `plantstore needs Node.js ${needed} or newer, and this is ${process.version}. On Linux (x64, arm64), npm start and npx plantstore run the right one after npm ci in its folder; elsewhere, install it.`,
  );
  process.exit(1);
}
import('./run.js');
