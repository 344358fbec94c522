import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cached, orUntested } from './tools.ts';

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

/**
 * Class path of Kafka's broker and command line tools, from the Maven registry; undefined without Maven, Java or that.
 */
export const findKafka = (): Promise<string | undefined> =>
  orUntested('what needs Kafka, since Java or Maven cannot bring it', async () => {
    await promisify(execFile)('java', ['-version']);
    const library = await cached(`kafka-${VERSION}`, async (draft) => {
      await mkdir(draft);
      const pom = join(draft, 'pom.xml');
      await writeFile(pom, POM);
      const options = ['--batch-mode', '--quiet', '--file', pom, `-DoutputDirectory=${draft}`];
      await promisify(execFile)('mvn', [...options, 'dependency:copy-dependencies']);
    });
    return join(library, '*');
  });
