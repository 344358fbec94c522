import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { loadConfig } from '../config.ts';

/** `plantstore serve` */
export const serveCommand = (): Command =>
  new Command('serve')
    .description('Run the service until SIGTERM or SIGINT. It then completes the requests in flight.')
    .addHelpText('after', help)
    .action(async () => {
      const { serve } = await import('../main.ts');
      await serve(loadConfig());
    });

/** The page whose tables say what each setting means. */
const REFERENCE = new URL('../../docs/configuration.md', import.meta.url);

/** The rows of its tables, in words without marks. */
function settings(): string[] {
  const rows = readFileSync(REFERENCE, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| `'));
  return rows.map((row) => {
    const cells = row.split('|').map((cell) => cell.trim().replaceAll('`', ''));
    const [, name = '', fallback, meaning = ''] = cells;
    const text = meaning.replace(/\[([^[\]]+)\]\([^()]+\)/g, '$1');
    return `  ${name.padEnd(21)}${text}${fallback === 'unset' ? '' : ` (default: ${fallback})`}`;
  });
}

function help(): string {
  return `
Log lines go to stdout, one JSON object per line (in a terminal and without an
issuer: lines for people); "listening" names each port.
http://ADMIN_HOST:ADMIN_PORT/readyz says whether the service is ready. Without
JWKS_URL, JWT_ISSUER and JWT_AUDIENCE it runs in development mode; plantstore
token then issues tokens.

Environment:
${settings().join('\n')}
To turn traces on, set OTEL_EXPORTER_OTLP_ENDPOINT,
OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or OTEL_TRACES_EXPORTER. OTEL_SDK_DISABLED=true
turns them off. OpenTelemetry reads these and its other variables itself.

Examples:
  $ plantstore serve
  $ PORT=3000 DATA_DIR=/var/lib/plantstore LOG_LEVEL=warn plantstore serve
  $ JWKS_URL=https://id.example.org/jwks.json JWT_ISSUER=https://id.example.org/ \\
      JWT_AUDIENCE=plants plantstore serve`;
}
