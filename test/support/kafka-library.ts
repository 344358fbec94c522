import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const VERSION = '4.1.0';

const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>plantstore</groupId><artifactId>kafka-for-tests</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>${VERSION}</version></dependency>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId><version>${VERSION}</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
`;

const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'plantstore-test');

/**
 * Class path of Kafka's broker and command line tools, from the Maven registry, stored in the user's cache. Without
 * Maven, Java or the registry, says so on stderr and returns undefined; with CI set, rejects.
 */
export async function findKafka(): Promise<string | undefined> {
  try {
    await promisify(execFile)('java', ['-version']);
    const library = join(CACHE, `kafka-${VERSION}`);
    if (!(await exists(library))) await download(library);
    return join(library, '*');
  } catch (error) {
    if (process.env.CI === 'true') throw error;
    console.error(`\nNOT TESTED: what needs Kafka, since Java or Maven cannot bring it: ${(error as Error).message}\n`);
    return undefined;
  }
}

const exists = (directory: string): Promise<boolean> =>
  readdir(directory).then(
    () => true,
    () => false,
  );

/** Safe for concurrent processes: each uses its own directory, and the first complete one stays. */
async function download(to: string): Promise<void> {
  await mkdir(CACHE, { recursive: true });
  const directory = await mkdtemp(join(CACHE, 'download-'));
  try {
    const pom = join(directory, 'pom.xml');
    await writeFile(pom, POM);
    const options = ['--batch-mode', '--quiet', '--file', pom, `-DoutputDirectory=${join(directory, 'lib')}`];
    await promisify(execFile)('mvn', [...options, 'dependency:copy-dependencies']);
    await rename(join(directory, 'lib'), to).catch(async (error) => {
      if (!(await exists(to))) throw error;
    });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
