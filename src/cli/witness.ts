import { once } from 'node:events';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { ed25519KeyFile } from '../auth/keys/key-file.ts';
import { naming } from '../files.ts';
import { urlOf } from '../observe/admin.ts';
import { cosigner } from '../tlog/signer.ts';
import { formatVerifierKey, isKeyName, type VerifierKey } from '../tlog/verifier-key.ts';
import { vkey, whole } from './arguments.ts';
import { print } from './output.ts';

interface Options {
  readonly key: string;
  readonly name: string;
  readonly log: readonly VerifierKey[];
  readonly state: string;
  readonly host: string;
  readonly port: number;
}

/** `plantstore witness` */
export const witnessCommand = (): Command =>
  new Command('witness')
    .description("Cosign the checkpoints of other operators' logs until SIGTERM or SIGINT. Needs no store.")
    .requiredOption('--key <file>', 'the Ed25519 private key of the witness (PKCS #8, PEM); generated if missing')
    .requiredOption('--name <name>', 'name of the witness, such as witness.example.org/one', name)
    .requiredOption('--log <vkey>', 'vkey of a log to cosign; repeatable', (text, logs: VerifierKey[] = []) => [
      ...logs,
      vkey(text),
    ])
    .option('--state <folder>', 'folder that records what the witness cosigned; created if missing', './witness')
    .option('--host <host>', 'address to listen on', '127.0.0.1')
    .option('--port <port>', 'port to listen on; 0: any free port', whole(0, 65_535, 'a port from 0 to 65535'), 8090)
    .addHelpText(
      'after',
      `
A witness (c2sp.org/tlog-witness) cosigns a checkpoint if the log proves that it
extends the last checkpoint that the witness cosigned. Prints the vkey of the
witness, for the setting WITNESSES of the log. It serves plain HTTP: put TLS in
front of it. Never start it on an older copy of its folder: it could then cosign
a second history.

Example:
  $ plantstore witness --key witness.pem --name witness.example.org/one --log "$(plantstore audit key)"
  witness.example.org/one+...
  $ WITNESSES="http://127.0.0.1:8090=witness.example.org/one+..." plantstore serve`,
    )
    .action(async ({ key: file, name, log, state, host, port }: Options) => {
      const key = await ed25519KeyFile(file, 'logs that trust the old key must be given the new one');
      const { closeWitnessServer, createWitnessServer } = await import('../witness/server.ts');
      const { Records, RECORDS_FILE, Witness } = await import('../witness/witness.ts');
      const origins = log.map((known) => known.name);
      const records = naming(join(state, RECORDS_FILE), () => new Records(state, origins));
      const signer = cosigner(name, key);
      const server = createWitnessServer(new Witness(signer, log, records, console.error));
      server.listen(port, host);
      await once(server, 'listening');
      await print([formatVerifierKey(signer.key)]);
      console.error(`listening at ${urlOf(server)}`);
      for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => closeWitnessServer(server));
      await once(server, 'close');
      records.close();
    });

function name(text: string): string {
  if (!isKeyName(text)) throw new InvalidArgumentError('Expected a name without spaces or plus signs.');
  return text;
}
