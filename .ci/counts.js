// Prints how many tests passed and failed in a JSON report of vitest, and fails unless all passed and there were some.
import { existsSync, readFileSync } from 'node:fs';

const [report] = process.argv.slice(2);
const { testResults } = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : { testResults: [] };
const countOf = (status) =>
  testResults.flatMap((file) => file.assertionResults).filter((test) => test.status === status).length;
// A file that could not be loaded, or whose process died, has no failed test in the report.
const broken = testResults.filter(
  (file) => file.status === 'failed' && file.assertionResults.every((test) => test.status !== 'failed'),
).length;
const passed = countOf('passed');
const failed = countOf('failed') + broken;
const skipped = countOf('skipped') + countOf('pending');
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exitCode = passed > 0 && failed === 0 ? 0 : 1;
