// Prints how many tests passed and failed in a JSON report of vitest, and fails unless all passed and there were some.
import { existsSync, readFileSync } from 'node:fs';

const [report] = process.argv.slice(2);
const { testResults } = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : { testResults: [] };
const countOf = (status) =>
  testResults.flatMap((file) => file.assertionResults).filter((test) => test.status === status).length;
// A file that could not be loaded has no tests in the report.
const broken = testResults.filter((file) => file.status === 'failed' && file.assertionResults.length === 0).length;
const passed = countOf('passed');
const failed = countOf('failed') + broken;
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = passed > 0 && failed === 0 ? 0 : 1;
