// Connects to PostgreSQL servers with each `sslMode`. The servers have a valid certificate, one for another name, or
// none; some require a client certificate or a password. Reports which connections are accepted, and the message for
// each refusal. Needs openssl; uses Debian's PostgreSQL unless `--binaries` specifies another installation.
import { execFile } from 'node:child_process';
import console from 'node:console';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { BINARIES, giveToPostgres, inFolder, MAIN, Postgres, readArguments } from './programs.mjs';

const USAGE = `node scripts/operations/database-tls.mjs [--binaries ${BINARIES}]`;
const { values } = readArguments(USAGE, { options: { binaries: { type: 'string', default: BINARIES } } });
const run = promisify(execFile);
const NEW_KEY = ['req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

await inFolder(async (folder, atEnd) => {
  const [ca, otherCa] = [await authority(folder, 'ca'), await authority(folder, 'other-ca')];
  const server = await certificate(folder, ca, 'server', 'subjectAltName=DNS:localhost,IP:127.0.0.1');
  const elsewhere = await certificate(folder, ca, 'elsewhere', 'subjectAltName=DNS:elsewhere.example');
  const client = await certificate(folder, ca, 'registry', 'extendedKeyUsage=clientAuth');
  await giveToPostgres(server.key, elsewhere.key);
  const start = async (one, hba) => {
    const tls = one
      ? ['ssl=on', `ssl_cert_file=${one.crt}`, `ssl_key_file=${one.key}`, `ssl_ca_file=${ca.crt}`]
      : [];
    const postgres = await Postgres.start(values.binaries, folder, ['fsync=off', ...tls], hba);
    atEnd(() => postgres.stop());
    return postgres.port;
  };
  const right = await start(server);
  const wrongName = await start(elsewhere);
  const plain = await start();
  const asksForCertificate = await start(
    server,
    'hostssl all all 127.0.0.1/32 cert clientcert=verify-full\n',
  );
  const asksForPassword = await start(server, 'hostssl all all 127.0.0.1/32 scram-sha-256\n');

  const verifies = (sslRootCertFile, sslMode = 'verify-full') => ({ sslMode, sslRootCertFile });
  const withClient = { ...verifies(ca.crt), sslCertFile: client.crt, sslKeyFile: client.key };
  const certificateRefused = 'has a certificate that cannot be verified';
  const url = `postgres://registry@localhost:${right}/postgres?sslmode=verify-full&sslrootcert=${ca.crt}`;
  let differing = 0;
  for (const [what, port, settings, expected] of [
    ['verify-full, its name', right, verifies(ca.crt)],
    ['verify-full, its address', right, { ...verifies(ca.crt), host: '127.0.0.1' }],
    [
      'verify-full, in the url',
      right,
      { url, host: undefined, port: undefined, user: undefined, database: undefined },
    ],
    ['verify-full, an unknown CA', right, { sslMode: 'verify-full' }, certificateRefused],
    ['verify-full, another CA', right, verifies(otherCa.crt), certificateRefused],
    ['verify-full, another name', wrongName, verifies(ca.crt), certificateRefused],
    [
      'verify-full, another address',
      wrongName,
      { ...verifies(ca.crt), host: '127.0.0.1' },
      certificateRefused,
    ],
    ['verify-ca, another name', wrongName, verifies(ca.crt, 'verify-ca')],
    ['verify-ca, another CA', wrongName, verifies(otherCa.crt, 'verify-ca'), certificateRefused],
    ['require', wrongName, { sslMode: 'require' }],
    ['require, with the CA', wrongName, verifies(ca.crt, 'require')],
    ['require, another CA', wrongName, verifies(otherCa.crt, 'require'), certificateRefused],
    ['require, server without TLS', plain, { sslMode: 'require' }, 'does not support TLS'],
    ['prefer', wrongName, { sslMode: 'prefer' }],
    ['prefer, server without TLS', plain, { sslMode: 'prefer' }],
    ['disable', plain, { sslMode: 'disable' }],
    ['disable, server requires TLS', asksForCertificate, { sslMode: 'disable' }, 'rejects user registry'],
    ['a client certificate', asksForCertificate, withClient],
    ['none, server requires one', asksForCertificate, verifies(ca.crt), 'rejects user registry'],
    ['a wrong password', asksForPassword, { sslMode: 'require', password: 'x' }, 'rejects the password'],
    ['no such database', plain, { database: 'nowhere' }, 'does not exist'],
    ['no such user', plain, { user: 'nobody' }, 'rejects user nobody'],
  ]) {
    const database = { host: 'localhost', port, user: 'registry', database: 'postgres', ...settings };
    const answer = await statusOf(folder, database);
    const isExpected = expected ? answer.includes(expected) : answer === '';
    if (!isExpected) differing += 1;
    console.log(`${isExpected ? 'as expected' : 'DIFFERS    '}  ${what}: ${answer || 'accepted'}`);
  }
  process.exitCode = differing > 0 ? 1 : 0;
});

/** Standard error of `migrate status`; empty if it connected. */
async function statusOf(folder, database) {
  const config = join(folder, 'tls.yaml');
  await writeFile(config, JSON.stringify({ auth: { mode: 'anonymous' }, database }));
  const status = run(process.execPath, [MAIN, 'migrate', 'status', '--config', config]);
  return status.then(
    () => '',
    ({ stderr }) => stderr.trim() || 'failed without a message',
  );
}

function pair(folder, name) {
  return {
    key: join(folder, `${name}.key`),
    crt: join(folder, `${name}.crt`),
    csr: join(folder, `${name}.csr`),
  };
}

async function authority(folder, name) {
  const made = pair(folder, name);
  await run('openssl', [
    ...NEW_KEY,
    '-x509',
    '-days',
    '2',
    '-subj',
    `/CN=${name}`,
    '-keyout',
    made.key,
    '-out',
    made.crt,
  ]);
  return made;
}

async function certificate(folder, signer, name, extension) {
  const made = pair(folder, name);
  await run('openssl', [...NEW_KEY, '-subj', `/CN=${name}`, '-keyout', made.key, '-out', made.csr]);
  const extensions = join(folder, `${name}.ext`);
  await writeFile(extensions, extension);
  const by = [
    '-CA',
    signer.crt,
    '-CAkey',
    signer.key,
    '-CAcreateserial',
    '-days',
    '2',
    '-extfile',
    extensions,
  ];
  await run('openssl', ['x509', '-req', '-in', made.csr, '-out', made.crt, ...by]);
  return made;
}
