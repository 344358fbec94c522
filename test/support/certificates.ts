import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** A certificate and its key, in PEM files. */
export interface Certificate {
  readonly certificate: string;
  readonly key: string;
}

/** A certificate authority for a test, with its files in the test's directory. Needs openssl. */
export class CertificateAuthority implements Certificate {
  readonly certificate: string;
  readonly key: string;
  readonly #directory: string;

  constructor(directory: string, name: string) {
    this.#directory = directory;
    ({ certificate: this.certificate, key: this.key } = this.#make(name, []));
  }

  /** A certificate of this authority for `localhost`, for these purposes only if there are some. */
  issue(name: string, purposes?: string, days = 2): Certificate {
    return this.#make(name, [
      ...['-CA', this.certificate, '-CAkey', this.key, '-days', String(days)],
      ...['-addext', 'subjectAltName=DNS:localhost', '-addext', 'basicConstraints=critical,CA:FALSE'],
      ...(purposes === undefined ? [] : ['-addext', `extendedKeyUsage=${purposes}`]),
    ]);
  }

  #make(name: string, options: readonly string[]): Certificate {
    const certificate = join(this.#directory, `${name}.crt`);
    const key = join(this.#directory, `${name}.key`);
    const made = [
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-keyout',
      key,
      '-out',
      certificate,
    ];
    execFileSync('openssl', ['req', '-x509', '-subj', `/CN=${name}`, '-days', '2', ...made, ...options], {
      stdio: 'pipe',
    });
    return { certificate, key };
  }
}
