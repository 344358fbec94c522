import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Comparison, Effort } from '../compare.ts';
import { barChart } from './bar-chart.ts';
import { environment } from './environment.ts';
import { judge } from './goals.ts';
import { type LineChart, lineCharts } from './line-chart.ts';
import { caveats, goalsTable } from './text.ts';

const DIRECTORY = join(import.meta.dirname, '../../results/local');

/** What suites found out. */
export interface Results {
  readonly comparison?: Comparison;
  readonly charts?: readonly LineChart[];
}

/**
 * Prints how the goals went, and writes everything as JSON and the charts as SVG into bench/results/local, named by
 * date and suites. What is worth keeping of it goes into docs/scale.md, and a chart into bench/results.
 */
export function report(suites: readonly string[], effort: Effort, { comparison = {}, charts = [] }: Results): void {
  const about = environment();
  const goals = judge(comparison);
  console.log(goalsTable(goals) + caveats(comparison));
  mkdirSync(DIRECTORY, { recursive: true });
  const write = (name: string, content: string) => {
    const path = join(DIRECTORY, `${about.date.slice(0, 19).replaceAll(':', '')}-${name}`);
    writeFileSync(path, content);
    console.log(`written: ${relative(process.cwd(), path)}`);
  };
  console.log();
  write(`${suites.join('-')}.json`, `${JSON.stringify({ ...about, effort, goals, comparison, charts }, null, 1)}\n`);
  const { cores, model } = about.machine;
  const title = `${about.date.slice(0, 10)}, ${about.commit ?? ''}, Node ${about.versions.node}, ${cores} cores ${model}`;
  if (Object.keys(comparison).length > 0) write('comparison.svg', barChart(title, comparison));
  if (charts.length > 0) write('growth.svg', lineCharts(charts));
}
